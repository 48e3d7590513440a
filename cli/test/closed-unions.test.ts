import { globSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = ['packages/storage', 'host', 'packages/module-testkit', 'cli']

/**
 * The sources that do not compile once a declaration of the SDK has another text, of those that
 * mention what it is about.
 */
function brokenBy(file: string, text: string, other: string, mentioned: RegExp): string[] {
  const declaration = join(root, 'packages/module-sdk/dist', file)
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [declaration] }, ts.sys, root)
  const sources = packages.flatMap((name) => globSync(`${name}/src/**/*.ts`, { cwd: root }))
  const roots = sources
    .map((source) => join(root, source))
    .filter((path) => mentioned.test(ts.sys.readFile(path) ?? ''))
  const host = ts.createCompilerHost(options)
  const { readFile } = host
  let isReplaced = false
  host.readFile = (path) => {
    const found = readFile.call(host, path)
    if (path !== declaration || !found?.includes(text)) return found
    isReplaced = true
    return found.replace(text, other)
  }
  const program = ts.createProgram(roots, { ...options, composite: false, noEmit: true }, host)
  const broken = roots.filter(
    (path) => program.getSemanticDiagnostics(program.getSourceFile(path)).length > 0,
  )
  t.ok(isReplaced, `${file} declares ${text}`)
  return broken.map((path) => relative(root, path))
}

t.test('another engine does not compile where each engine has its own part', async (t) => {
  const engine = /^(?!import).*\b(byEngine\(|Record<Engine)/m
  const text = "type Engine = 'sqlite' | 'postgres';"
  const broken = brokenBy('sql.d.ts', text, text.replace(';', " | 'third';"), engine)
  t.ok(broken.includes('packages/storage/src/port/engines.ts'), 'what others know of an engine')
  t.ok(broken.includes('host/src/events/event-log.ts'), 'statements that differ')
  const sources = packages.flatMap((name) => globSync(`${name}/src/**/*.ts`, { cwd: root }))
  const different = sources.filter((path) => engine.test(ts.sys.readFile(join(root, path)) ?? ''))
  t.same(broken, different, 'and wherever else')
})

t.test('another kind of step does not compile where steps are taken', async (t) => {
  const text = 'type Step = Statement | Emission;'
  const other = text.replace(';', ' | { readonly third: string };')
  const taken = /\b(isStatement|isEmission|notAStep)\b/
  t.same(brokenBy('transaction.d.ts', text, `${text} `, taken), [], 'as it is, all compiles')
  t.same(brokenBy('transaction.d.ts', text, other, taken).sort(), [
    'packages/module-testkit/src/check/watch/watch-storage.ts',
    'packages/storage/src/port/steps.ts',
  ])
})

t.test('no code outside of storage asks for an engine by its name', async (t) => {
  const named = packages
    .filter((name) => name !== 'packages/storage')
    .flatMap((name) => globSync(`${name}/src/**/*.ts`, { cwd: root }))
    .filter((path) => /['"](sqlite|postgres)['"]/.test(ts.sys.readFile(join(root, path)) ?? ''))
  t.same(named, [])
})
