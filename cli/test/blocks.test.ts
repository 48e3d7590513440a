import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ProblemDetails } from '@mortise/module-sdk/host'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import ts from 'typescript'
import { docPages } from './doc-pages.ts'
import { testApplication } from './run-app.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = join(root, 'docs')

interface Block {
  readonly page: string
  readonly language: string
  /** The file that it quotes, if any. */
  readonly file: string | undefined
  readonly text: string
}

/** All blocks of code of the pages. */
async function allBlocks(): Promise<Block[]> {
  const ofPage = ([page, markdown]: [string, string]) => {
    const found = markdown.matchAll(/^```(\w*) ?(\S*)\n([\s\S]*?)^```$/gm)
    const blocks = Array.from(found, ([, language = '', file, text = '']) => ({
      page,
      language,
      file: file || undefined,
      text,
    }))
    if ((markdown.match(/^ *```/gm) ?? []).length !== 2 * blocks.length)
      throw new Error(`an open block in ${page}`)
    return blocks
  }
  return Array.from(await docPages(), ofPage).flat()
}

type Entry = readonly [page: string, what: string, by: string]

/** The test that runs, compiles or compares the blocks of a page, in these languages. */
const held: readonly Entry[] = [
  ['tutorial.md', 'sh ts js', 'cli/test/stranger.trial.test.ts'],
  ['writing-a-module.md', 'sh', 'cli/test/stranger.trial.test.ts'],
  ['calling.md', 'sh', 'cli/test/calling.test.ts'],
  ['calling.md', 'ts', 'cli/test/commands/client.test.ts'],
  ['operating.md', 'sh', 'cli/test/operating-page.ts'],
  ['console.md', 'sh', 'cli/test/console.test.ts'],
  ['scaling.md', 'sh', 'cli/test/scaling.test.ts'],
  ['configuration.md', 'json', 'host/test/documentation.test.ts'],
  ['configuration.md', 'sh', 'cli/test/blocks.test.ts'],
  ['errors.md', 'json', 'cli/test/blocks.test.ts'],
  // Written from the code.
  ['reference/commands.md', 'sh', '.dev/reference-pages.js'],
  ['reference/sdk.md', 'ts sql', '.dev/reference-pages.js'],
]

/** Blocks that no test runs: how they begin, and the reason. */
const exceptions: readonly Entry[] = [
  ['calling.md', 'npm install', 'needs a registry; client.test.ts does what follows it'],
  [
    'configuration.md',
    'APP_DATABASE',
    'needs a PostgreSQL with TLS; tls.test.ts has one, and postgres-url.test.ts reads the URL',
  ],
  [
    'configuration.md',
    'export PGPASSWORD',
    'needs a PostgreSQL with a password; migrate-data.test.ts has one',
  ],
  [
    'configuration.md',
    'app backup ../shop.tgz\napp config set database',
    'needs an application on PostgreSQL; postgres-data.test.ts restores on the other engine',
  ],
  ['configuration.md', '@acme:registry', 'settings of npm for a registry that does not exist'],
  ['console.md', '{', 'needs an issuer; packages/web-console/test/login.test.ts has one with these settings'],
  ['contributing.md', 'npm start', '.ci/run does it, with this test among the rest'],
  ['contributing.md', 'npm run build', '.ci/run builds, and operating.trial.test.ts installs a folder'],
  ['operating.md', 'scrape_configs', 'for Prometheus'],
  ['operating.md', 'APP_TELEMETRY_ENDPOINT', 'for OpenTelemetry; host/test/telemetry has its variables'],
  ['operating.md', 'livenessProbe', 'for Kubernetes'],
  ['operating.md', 'curl --fail', 'for systemd'],
  ['reacting.md', 'app init', 'two terminals; receiver-example.test.ts sends these calls'],
  ['reacting.md', 'WEBHOOK_SECRET', 'two terminals; receiver-example.test.ts sends these calls'],
  ['writing-a-module.md', 'const { total }', 'a part; found.trial.test.ts has a module that declares one'],
  ['reliability.md', 'npm run verify', '.ci/run does the first line, and the second takes ten minutes'],
  ['scaling.md', 'app migrate-data', 'needs a PostgreSQL with a password; migrate-data.test.ts has one'],
]

t.test('every block of the pages is run, compiled, compared or has a reason', async (t) => {
  const met = new Set<unknown>()
  for (const { page, language, file, text } of await allBlocks()) {
    const isOfPage = ([name, begin]: Entry) => name === page && text.startsWith(begin)
    const entry =
      exceptions.find(isOfPage) ??
      held.find(([name, languages]) => name === page && languages.split(' ').includes(language))
    t.ok(file || entry, `${page}: ${text.slice(0, 60)}`)
    met.add(entry)
  }
  t.strictSame(
    [...held, ...exceptions].filter((entry) => !met.has(entry)),
    [],
    'no entry is left over',
  )
  for (const [page, , test] of held) {
    const source = await readFile(join(root, test), 'utf8')
    t.ok(source.includes(basename(page)), `${test} has to do with ${page}`)
  }
})

t.test('configuration.md: the lines change settings', async (t) => {
  const { run } = await testApplication(t)
  t.equal((await run('module-install', 'api-purchase')).exitCode, 0)
  const blocks = (await allBlocks()).filter(
    ({ page, language }) => page === 'configuration.md' && language === 'sh',
  )
  const needsPostgres = /postgres:\/\/|^app restore/m
  const lines = blocks.flatMap(({ text }) => (needsPostgres.test(text) ? [] : text.trim().split('\n')))
  t.ok(lines.length > 3)
  for (const line of lines) {
    const argv = line
      .replace(/ +#.*$/, '')
      .split(' ')
      .slice(1)
    const { exitCode, stdout } = await run(...argv)
    t.equal(exitCode, 0, `${line}: ${stdout}`)
  }
})

t.test('errors.md shows a problem as the host sends it', async (t) => {
  const blocks = (await allBlocks()).filter(
    ({ page, language }) => page === 'errors.md' && language === 'json',
  )
  t.ok(blocks.length > 0)
  for (const { text } of blocks) t.strictSame([...Value.Errors(ProblemDetails, JSON.parse(text))], [])
})

t.test('the example with Kysely has types that hold', (t) => {
  const folder = join(docs, 'examples', 'kysely')
  t.ok(existsSync(folder))
  const program = ts.createProgram([join(folder, 'index.js')], {
    allowJs: true,
    checkJs: true,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
  })
  const messages = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  t.strictSame(messages, [])
  t.end()
})
