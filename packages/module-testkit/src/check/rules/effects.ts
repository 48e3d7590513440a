import type { Function as AnyFunction, AnyNode, Expression, Identifier, Node, Pattern } from 'acorn'
import { full, fullAncestor } from 'acorn-walk'
import { seen } from '../watch/seen.ts'
import type { Found, Rule } from '../world/finding.ts'
import { type Source, sourcesOf } from '../world/sources.ts'
import type { WatchedModule } from '../world/watch-module.ts'

const CHANGES = /^(push|unshift|splice|pop|shift|add|set|delete|clear|append|emit)$/
const LATER = /^(setTimeout|setInterval|setImmediate|queueMicrotask)$/

export const effects: Rule<WatchedModule> = {
  code: 'effect-repeats',
  finds:
    'an effect inside a transaction besides its statements: it happens again when the transaction runs again, and stays when that rolls back',
  remedy: 'Return the value from the transaction and act on it afterwards, or add a job: yield* mail.add(…).',
  find: (module) => [
    ...sourcesOf(module.directory).flatMap(effectsIn),
    ...seen.flatMap(({ what, name, stack }): Found[] => {
      const where = what === 'file' && name.startsWith('in a transaction') ? module.place(stack) : undefined
      return where === undefined
        ? []
        : [{ where, why: `it writes ${name.slice('in a transaction '.length)} in a transaction` }]
    }),
  ],
}

function effectsIn({ file, program }: Source): Found[] {
  const memory = memoryOf(program)
  const found: Found[] = []
  fullAncestor(program, (node, _state, ancestors) => {
    const steps = ancestors.find(isTransaction)
    if (steps === undefined || steps === node) return
    const own = namesIn(steps)
    const why = effectOf(node as AnyNode, (name) => !own.has(name), memory)
    if (why) found.push({ where: `${file}:${node.loc?.start.line}`, why })
  })
  return found
}

function effectOf(
  node: AnyNode,
  isOuter: (name: string) => boolean,
  memory: ReadonlySet<string>,
): string | undefined {
  if (node.type === 'UpdateExpression' || (node.type === 'AssignmentExpression' && node.operator !== '=')) {
    const name = rootOf(node.type === 'UpdateExpression' ? node.argument : node.left)
    return name && isOuter(name) ? `a transaction changes "${name}", which is outside of it` : undefined
  }
  if (node.type !== 'CallExpression') return undefined
  const { callee } = node
  if (callee.type === 'Identifier' && LATER.test(callee.name) && isOuter(callee.name))
    return `a transaction calls ${callee.name}`
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return undefined
  const name = rootOf(callee.object)
  if (name === undefined || !CHANGES.test(callee.property.name) || !isOuter(name) || !memory.has(name))
    return undefined
  return `a transaction calls ${name}.${callee.property.name}, and "${name}" is outside of it`
}

/** A generator that delegates to others. */
function isTransaction(node: Node): node is AnyFunction {
  if (!('generator' in node && node.generator === true)) return false
  let delegates = false
  full(node as Node, (inner) => {
    if (inner.type === 'YieldExpression' && 'delegate' in inner && inner.delegate) delegates = true
  })
  return delegates
}

/** The names that are declared anywhere inside. */
function namesIn(node: Node): Set<string> {
  const names = new Set<string>()
  full(node, (inner) => {
    const one = inner as AnyNode
    if (one.type === 'VariableDeclarator') addNames(one.id, names)
    if ('params' in one) for (const param of one.params) addNames(param, names)
    if ((one.type === 'FunctionDeclaration' || one.type === 'ClassDeclaration') && one.id)
      names.add(one.id.name)
    if (one.type === 'CatchClause' && one.param) addNames(one.param, names)
  })
  return names
}

function addNames(pattern: Pattern, names: Set<string>): void {
  if (pattern.type === 'Identifier') names.add(pattern.name)
  else if (pattern.type === 'AssignmentPattern') addNames(pattern.left, names)
  else if (pattern.type === 'RestElement') addNames(pattern.argument, names)
  else if (pattern.type === 'ArrayPattern') for (const one of pattern.elements) one && addNames(one, names)
  else if (pattern.type === 'ObjectPattern')
    for (const one of pattern.properties) addNames(one.type === 'Property' ? one.value : one.argument, names)
}

/** The names of what keeps values in memory: arrays, maps, sets, emitters. */
function memoryOf(program: Node): Set<string> {
  const names = new Set<string>()
  full(program, (node) => {
    const one = node as AnyNode
    if (one.type !== 'VariableDeclarator' || !one.init) return
    const { init } = one
    const isMade =
      init.type === 'NewExpression' &&
      /^(Weak)?(Map|Set)$|EventEmitter$/.test((init.callee as Identifier).name)
    if (isMade || init.type === 'ArrayExpression') addNames(one.id, names)
  })
  return names
}

/** `a` of `a.b[c].d`. */
function rootOf(node: Expression | Pattern | AnyNode): string | undefined {
  if (node.type === 'Identifier') return node.name
  return node.type === 'MemberExpression' ? rootOf(node.object) : undefined
}
