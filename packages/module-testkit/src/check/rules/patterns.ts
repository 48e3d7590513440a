import { runInNewContext } from 'node:vm'
import { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import type { AnyNode } from 'acorn'
import { full } from 'acorn-walk'
import fc from 'fast-check'
import type { Found, Rule } from '../world/finding.ts'
import { schemasIn } from '../world/schemas-in.ts'
import { sourcesOf } from '../world/sources.ts'
import type { WatchedModule } from '../world/watch-module.ts'

/** A short text needs less by far, unless the time doubles with each character. In milliseconds. */
const PATIENCE = 300
/** How often a part is repeated. */
const TIMES = [12, 24, 36]
/** What makes a match fail at its end. */
const ENDS = ['\n!', '~', '']

export const slowPatterns: Rule<WatchedModule> = {
  code: 'slow-pattern',
  finds: 'a regular expression that takes exponential time: a text of forty characters stops the host',
  remedy:
    'Let no part that repeats contain another one that matches the same: ^(\\w+\\s?)*$ is ^[\\w\\s]*$; or limit the length and compare without it.',
  find(module) {
    const found: Found[] = []
    const known = new Map<string, string | undefined>()
    const look = (where: string, source: string, flags: string) => {
      const key = `/${source}/${flags}`
      if (!known.has(key)) known.set(key, slowText(source, flags))
      const text = known.get(key)
      if (text === undefined) return
      found.push({ where, why: `${key} does not end within ${PATIENCE} ms for ${JSON.stringify(text)}` })
    }
    for (const { where, schema } of module.routes) {
      for (const part of [schema.params, schema.querystring, schema.body]) {
        for (const [{ pattern, patternProperties = {} }] of schemasIn(part)) {
          for (const one of [pattern, ...Object.keys(patternProperties)]) if (one) look(where, one, 'u')
        }
      }
    }
    for (const [{ pattern }] of schemasIn(module.declared?.settings))
      if (pattern) look('package.json', pattern, 'u')
    for (const { file, program } of sourcesOf(module.directory)) {
      full(program, (node) => {
        const literal = regexOf(node as AnyNode)
        if (literal) look(`${file}:${node.loc?.start.line}`, literal.pattern, literal.flags)
      })
    }
    return found
  },
}

function regexOf(node: AnyNode): { pattern: string; flags: string } | undefined {
  if (node.type === 'Literal' && node.regex) return node.regex
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return undefined
  if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return undefined
  const [pattern, flags] = node.arguments.map((one) => (one.type === 'Literal' ? one.value : undefined))
  return typeof pattern === 'string' ? { pattern, flags: typeof flags === 'string' ? flags : '' } : undefined
}

/** A text on which it takes too long; undefined if none was found. Nothing is found that was not tried. */
function slowText(source: string, flags: string): string | undefined {
  const parts = repeatedParts(source, flags)
  if (parts.length === 0) return undefined
  const pattern = new RegExp(source, flags.replace(/[gy]/g, ''))
  for (const { before, part } of parts) {
    for (const times of TIMES) {
      for (const end of ENDS) {
        const text = before + part.repeat(Math.ceil(times / Math.max(1, part.length / 2))) + end
        if (text.length < 120 && lasts(pattern, text) && lasts(pattern, text)) return text
      }
    }
  }
  return undefined
}

function lasts(pattern: RegExp, text: string): boolean {
  try {
    runInNewContext('pattern.test(text)', { pattern, text }, { timeout: PATIENCE })
    return false
  } catch {
    return true
  }
}

/** Texts for the parts that repeat and have a choice inside: only those can take exponential time. */
function repeatedParts(source: string, flags: string): { before: string; part: string }[] {
  const parts: { before: string; part: string }[] = []
  try {
    const ast = new RegExpParser().parsePattern(source, 0, source.length, { unicode: /[uv]/.test(flags) })
    const stack: { max: number; raw: string; start: number; hasChoice: boolean }[] = []
    visitRegExpAST(ast, {
      onQuantifierEnter({ max, element, start }) {
        for (const outer of stack) if (max > 1) outer.hasChoice = true
        stack.push({ max, raw: element.raw, start, hasChoice: false })
      },
      onGroupEnter({ alternatives }) {
        if (alternatives.length > 1) for (const outer of stack) outer.hasChoice = true
      },
      onCapturingGroupEnter({ alternatives }) {
        if (alternatives.length > 1) for (const outer of stack) outer.hasChoice = true
      },
      onQuantifierLeave() {
        const { max, raw, start, hasChoice } = stack.pop() as (typeof stack)[number]
        if (max < 10 || !hasChoice) return
        const before = ['', ...samplesOf(source.slice(0, start), flags, 1)]
        for (const part of samplesOf(raw, flags, 6))
          parts.push(...before.map((one) => ({ before: one, part })))
      },
    })
  } catch {
    // A syntax that this parser does not know.
  }
  return parts
}

function samplesOf(raw: string, flags: string, count: number): string[] {
  try {
    const pattern = new RegExp(`^(?:${raw.replace(/^\^/, '')})$`, flags.replace(/[gyims]/g, ''))
    const samples = fc.sample(fc.stringMatching(pattern), { numRuns: count * 4, seed: 1729 })
    return [...new Set(samples)]
      .toSorted((one, other) => one.length - other.length)
      .filter(Boolean)
      .slice(0, count)
  } catch {
    return []
  }
}
