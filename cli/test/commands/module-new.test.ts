import { execFile } from 'node:child_process'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { runApp } from '../run-app.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const templates = join(root, 'cli/templates')
const { APP_TEST_DATABASE_URL: postgres } = process.env

/** Runs the tests that the module has as generated. Returns their report. */
const ownTests = async (folder: string) => {
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap'], { cwd: folder })
  return stdout
}

t.test('a module compiles, has its manifest, and passes its own tests', async (t) => {
  const parent = t.testdir({})
  const folder = join(parent, 'gift-card')
  for (const options of [[], ['--js']]) {
    await rm(folder, { recursive: true, force: true })
    const made = await runApp('module-new', '@acme/gift-card', '--dir', parent, '--json', ...options)
    t.equal(made.exitCode, 0, made.stdout)
    t.equal(made.json.folder, folder)
    for (const file of ['.gitignore', '.github/workflows/ci.yml', 'migrations/001-gift-card.down.sql'])
      t.ok(made.json.files.includes(file), file)
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    for (const entry of names.filter((name) => name.isFile())) {
      const text = await readFile(join(entry.parentPath, entry.name), 'utf8')
      t.notMatch(text, /my.?thing|@scope|\{version\}/i, entry.name)
    }
    if (options.length > 0) break
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => t.fail(stdout))
  }
  const manifest = await runApp('module-manifest', folder, '--check')
  t.equal(manifest.exitCode, 0, manifest.stderr)
  t.match(await ownTests(folder), postgres ? /# pass 8\n/ : /# pass 4\n/)
})

t.test('the linter of a module finds a forgotten yield*, and nothing else', async (t) => {
  const parent = t.testdir({})
  for (const [name, ...options] of [['typed'], ['plain', '--js']] as const) {
    await runApp('module-new', name, ...options, '--dir', parent)
    const folder = join(parent, name)
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const lint = async () => {
      const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
      const argv = [biome, 'lint', '--reporter=github']
      const { stdout } = await run(process.execPath, argv, { cwd: folder }).catch((error) => error)
      return stdout.match(/^::.*$/gm) ?? []
    }
    t.strictSame(await lint(), [])
    const file = join(folder, name === 'typed' ? 'src/service.ts' : 'src/service.js')
    const text = await readFile(file, 'utf8')
    const planted = text
      .replace('yield* repository.insert', 'repository.insert')
      .replace('yield* emit', 'emit')
      .concat('\nexport function* twice(caller) {\n  claimAll(caller)\n}\nfunction* claimAll(caller) {}\n')
    await writeFile(file, planted)
    const lines = planted
      .split('\n')
      .flatMap((line, index) => (/^ +(repository\.insert|emit|claimAll)/.test(line) ? [index + 1] : []))
    const found = (await lint()).filter((line: string) =>
      line.includes('This step never runs: write yield* before it.'),
    )
    t.strictSame(
      found.map((line: string) => Number(/line=(\d+)/.exec(line)?.[1])),
      lines,
    )
    t.equal(lines.length, 3)
  }
})

t.test('the shortest module passes its own test', async (t) => {
  const parent = t.testdir({})
  const made = await runApp('module-new', 'tiny', '--minimal', '--dir', parent, '--json')
  t.strictSame(made.json.files, ['index.js', 'package.json', 'test/tiny.test.js'])
  const manifest = await runApp('module-manifest', join(parent, 'tiny'), '--check')
  t.equal(manifest.exitCode, 0, manifest.stderr)
  const checked = await runApp('module-check', join(parent, 'tiny'), '--json')
  t.equal(checked.exitCode, 0, checked.stdout)
  t.match(await ownTests(join(parent, 'tiny')), /# pass 1\n/)
})

t.test('the module in JavaScript is the one in TypeScript without its types', async (t) => {
  const tokens = (text: string) =>
    text
      .replace(/\s+/g, '')
      .replace(/,(?=[)}\]])/g, '')
      .replaceAll(".ts'", ".js'")
  const typed = (await readdir(join(templates, 'typescript/src'))).toSorted()
  const plain = (await readdir(join(templates, 'javascript/src'))).toSorted()
  t.strictSame(
    plain,
    typed.map((name) => name.replace('.ts', '.js')),
  )
  for (const name of typed) {
    const source = await readFile(join(templates, 'typescript/src', name), 'utf8')
    const script = await readFile(join(templates, 'javascript/src', name.replace('.ts', '.js')), 'utf8')
    t.equal(tokens(script), tokens(stripTypeScriptTypes(source)), name)
  }
  const [ofTyped, ofPlain] = await Promise.all(
    ['typescript', 'javascript'].map(async (name) =>
      JSON.parse(await readFile(join(templates, name, 'package.template.json'), 'utf8')),
    ),
  )
  t.strictSame(ofPlain.mortise, ofTyped.mortise)
  for (const { keywords } of [ofPlain, ofTyped])
    t.strictSame(keywords, ['mortise-module'], 'app search finds it')
})

t.test('a name that is none, and a folder with something in it, are refused', async (t) => {
  const parent = t.testdir({ taken: { file: '' } })
  for (const name of ['Wish List', '../up', '@acme/', 'a_b', '-x'])
    t.equal((await runApp('module-new', '--dir', parent, '--json', '--', name)).exitCode, 2, name)
  const taken = await runApp('module-new', 'taken', '--dir', parent, '--json')
  t.match(taken.json.error, { code: 'in-the-way', message: join(parent, 'taken') })
})
