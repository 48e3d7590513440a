import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as failures from '@mortise/installer/failures'
import t from 'tap'
import { commands } from '../src/commands/index.ts'
import * as usage from '../src/failures/usage.ts'
import { docPages } from './doc-pages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Characters of a line of prose. */
const WIDTH = 100
const MOST_TERMS = 35

/** Terms of our own that the glossary has another word for, and phrases that readers stumble over. */
const banned = new RegExp(
  [
    String.raw`\b(whoever|whomever|of which|that there (is|are)|anew|amid|in force|goes on|somebody|from outside)\b`,
    String.raw`\b((un)?answer(s|ed|ing)?|tells?|(un)?told|lends?|lent|mend(s|ed|ing)?|former|reactions?|roll ?call|ear|gate)\b`,
  ].join('|'),
  'gi',
)

/** Text that stays as it is. */
const kept: readonly [path: RegExp, text: RegExp][] = [[/^cli\/test\/language\.test\.ts$/, /[\s\S]*/]]

/** Files that other tools write, that never change, or whose words are not ours. */
const foreign =
  /(^|\/)(node_modules|dist|\.tap|migrations|CHANGELOG\.md|LICENSE|package-lock\.json)(\/|$)|\.tsbuildinfo$/

/** The banned words in a text, the parts of identifiers and metric names too. */
function bannedIn(path: string, text: string): string[] {
  const own = kept.reduce((rest, [where, what]) => (where.test(path) ? rest.replace(what, '') : rest), text)
  const split = own.replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ').replaceAll('_', ' ')
  return split.match(banned) ?? []
}

async function namesBelow(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true })
  return names.map((name) => join(folder, name)).filter((name) => !name.includes('node_modules'))
}

/** The documentation: text by path. */
async function pages(): Promise<[path: string, text: string][]> {
  const packages = await readdir(join(root, 'packages'))
  const readmes = packages.map((name) => `packages/${name}/README.md`)
  const names = ['README.md', 'SECURITY.md', 'cli/README.md', ...readmes]
  const texts = names.map(
    async (name) => [name, await readFile(join(root, name), 'utf8').catch(() => '')] as [string, string],
  )
  const docs = Array.from(await docPages(), ([name, text]): [string, string] => [`docs/${name}`, text])
  return [...(await Promise.all(texts)), ...docs].filter(([, text]) => text !== '')
}

const withoutBlocks = (text: string) => text.replace(/^ *```[\s\S]*?^ *```$/gm, '')
const withoutCode = (text: string) => withoutBlocks(text).replace(/`[^`\n]+`/g, '')

/** The first cells of the glossary. */
async function terms(): Promise<string[]> {
  const glossary = await readFile(join(root, 'docs/glossary.md'), 'utf8')
  return Array.from(glossary.matchAll(/^\| ([a-z][a-z ]*) \| \S/gm), ([, term]) => term as string)
}

t.test('the glossary has few terms, in order', async (t) => {
  const found = await terms()
  t.ok(found.length > 20)
  t.ok(found.length <= MOST_TERMS, `${found.length} terms`)
  t.strictSame(found, [...new Set(found)].sort())
})

t.test('the other pages or the code use every term of the glossary', async (t) => {
  const all = (await pages()).filter(([name]) => name !== 'docs/glossary.md').map(([, text]) => text)
  const folders = ['host/src', 'cli/src', 'packages/application/src', 'packages/installer/src']
  const sources = (await Promise.all(folders.map(namesBelow))).flat()
  for (const name of sources.filter((name) => name.endsWith('.ts')))
    all.push(await readFile(join(root, name), 'utf8'))
  for (const term of await terms()) {
    const use = new RegExp(`\\b${term.replace(' ', '\\s')}`, 'i')
    t.ok(
      all.some((text) => use.test(text)),
      term,
    )
  }
})

t.test('the pages use none of the banned words', async (t) => {
  for (const [name, text] of await pages()) {
    t.strictSame(
      [...withoutCode(text).matchAll(banned)].map(([word]) => word),
      [],
      name,
    )
  }
})

t.test('code, comments and tests use none of the banned words, nor do metric names', async (t) => {
  for (const text of [
    'lastAnswer',
    'FORMER_SECRET',
    "'mortise_failed_reactions'",
    '// Nobody answers.',
    'isInForce',
  ])
    t.equal(bannedIn('planted.ts', text).length, 1, text)
  let files = 0
  for (const folder of ['host', 'cli', 'packages', 'docs/examples', '.dev', '.ci', '.changeset']) {
    const names = (await namesBelow(folder)).filter((name) => !foreign.test(name))
    for (const name of names.filter((name) => /\.([jt]s|md|sql|json|ya?ml|pl|service)$/.test(name))) {
      files += 1
      const found = bannedIn(name, `${name}\n${await readFile(join(root, name), 'utf8')}`)
      if (found.length > 0) t.fail(`${name}: ${[...new Set(found)].join(', ')}`)
    }
  }
  t.ok(files > 1_000, `${files} files`)
})

t.test('failures and help texts use none of the banned words', async (t) => {
  const entries = Object.values({ ...failures, ...usage }).filter((entry) => 'hints' in entry)
  const loaded = await Promise.all(commands.map(({ load }) => load()))
  const texts = [
    ...entries.flatMap(({ message, hints }) => [message, ...Object.values(hints)]),
    ...commands.map(({ summary }) => summary),
    ...loaded.flatMap(({ options = [] }) => options.map(([, text]) => text)),
  ]
  t.ok(texts.length > 300)
  for (const text of texts) t.strictSame(text.match(banned), null, text)
})

t.test('the prose of the pages has one width', async (t) => {
  for (const [name, text] of await pages()) {
    const prose = withoutBlocks(text)
      .split('\n')
      .filter((line) => !line.startsWith('|'))
    t.strictSame(
      prose.filter((line) => line.length > WIDTH),
      [],
      name,
    )
  }
})

t.test('the pages name no file that is not there', async (t) => {
  for (const [name, text] of await pages()) {
    const named = withoutBlocks(text).matchAll(/`((?:host|cli|packages|docs|\.ci)\/[\w./-]+)`/g)
    t.strictSame(
      Array.from(named, ([, path]) => path as string).filter((path) => !existsSync(join(root, path))),
      [],
      name,
    )
  }
})
