import { globSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = [
  'packages/storage',
  'packages/application',
  'host',
  'packages/installer',
  'packages/module-testkit',
  'cli',
]
const sources = packages.flatMap((name) => globSync(`${name}/src/**/*.ts`, { cwd: root })).sort()
const mentioning = (words: RegExp) =>
  sources.filter((path) => words.test(ts.sys.readFile(join(root, path)) ?? ''))

/** What an engine, and a kind of step, is in the declarations of the SDK, and one more of them. */
const changes: Readonly<Record<string, readonly [text: string, other: string]>> = {
  'sql.d.ts': ["type Engine = 'sqlite' | 'postgres';", "type Engine = 'sqlite' | 'postgres' | 'third';"],
  'transaction.d.ts': [
    'type Step = Statement | Emission;',
    'type Step = Statement | Emission | { readonly third: string };',
  ],
}

/** Those of these sources that do not compile with one more of each. */
function broken(t: { ok(value: unknown, message: string): unknown }, paths: readonly string[]): string[] {
  const declarations = join(root, 'packages/module-sdk/dist')
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: ['x.ts'] }, ts.sys, root)
  const host = ts.createCompilerHost(options)
  const { readFile } = host
  host.readFile = (path) => {
    const found = readFile.call(host, path)
    const change = path.startsWith(declarations) ? changes[relative(declarations, path)] : undefined
    if (change === undefined) return found
    t.ok(found?.includes(change[0]), `the SDK declares ${change[0]}`)
    return found?.replace(...change)
  }
  const program = ts.createProgram(
    paths.map((path) => join(root, path)),
    { ...options, composite: false, noEmit: true },
    host,
  )
  const hasErrors = (path: string) =>
    program.getSemanticDiagnostics(program.getSourceFile(join(root, path))).length > 0
  return paths.filter(hasErrors)
}

t.test('another engine, or kind of step, does not compile where it matters', async (t) => {
  const byEngine = mentioning(/^(?!import).*\b(byEngine\(|Record<Engine)/m)
  t.ok(byEngine.includes('packages/storage/src/port/engines.ts'), 'what others know of an engine')
  t.ok(byEngine.includes('host/src/events/event-log.ts'), 'statements that differ')
  const byStep = [
    'packages/module-testkit/src/check/watch/watch-storage.ts',
    'packages/storage/src/port/steps.ts',
  ]
  const all = [...new Set([...byEngine, ...mentioning(/\b(isStatement|isEmission|notAStep)\b/)])]
  t.same(broken(t, all).sort(), [...byEngine, ...byStep].sort())
})

t.test('no code outside of storage asks for an engine by its name', async (t) => {
  const named = mentioning(/['"](sqlite|postgres)['"]/)
  t.same(
    named.filter((path) => !path.startsWith('packages/storage/')),
    [],
  )
})
