import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from '@mortise/application'
import t from 'tap'
import { runApp } from '../run-app.ts'

const text = (...path: string[]) => readFile(join(...path), 'utf8')

t.test('an empty folder becomes an application whose configuration is valid', async (t) => {
  const directory = t.testdir({})
  const { exitCode, json } = await runApp('init', directory, '--json')
  t.equal(exitCode, 0)
  t.equal(json.directory, directory)
  t.ok(json.made.includes('app.config.json'))
  const config = await readConfig(directory, {})
  t.match(config.auth.issuer, /^urn:uuid:/)
  t.equal(config.secret?.length, 43)
  t.equal((await stat(join(directory, '.app', 'secret'))).mode & 0o777, 0o600)
  t.equal(await text(directory, '.gitignore'), '.app/\ndata/\n')
  t.ok((await stat(join(directory, 'data'))).isDirectory())
})

t.test('$schema names an existing JSON Schema', async (t) => {
  const directory = t.testdir({})
  await runApp('init', directory)
  const { $schema } = JSON.parse(await text(directory, 'app.config.json'))
  const schema = JSON.parse(await text(directory, $schema))
  t.match(schema, { type: 'object', properties: { name: {}, auth: {} } })
  t.strictSame(
    [schema.required, schema.properties.log.required],
    [[], []],
    'what has a default may be left out',
  )
})

t.test('init creates the folder, also with --dir', async (t) => {
  const root = t.testdir({})
  t.equal((await runApp('init', join(root, 'a', 'b'))).exitCode, 0)
  t.equal((await runApp('init', '--dir', join(root, 'c'))).exitCode, 0)
  t.equal((await runApp('init', join(root, 'd'), '--dir', join(root, 'e'))).exitCode, 2)
  t.strictSame((await readdir(root)).sort(), ['a', 'c'])
  t.equal(JSON.parse(await text(root, 'a', 'b', 'app.config.json')).name, 'b')
})

t.test('two applications have different issuers and secrets', async (t) => {
  const [a, b] = [t.testdir({ a: {}, b: {} })].flatMap((root) => [join(root, 'a'), join(root, 'b')]) as [
    string,
    string,
  ]
  for (const directory of [a, b]) await runApp('init', directory)
  const issuer = async (directory: string) => JSON.parse(await text(directory, 'app.config.json')).auth.issuer
  t.not(await issuer(a), await issuer(b))
  t.not(await text(a, '.app', 'secret'), await text(b, '.app', 'secret'))
})

t.test('init in an application changes nothing', async (t) => {
  const directory = t.testdir({})
  await runApp('init', directory)
  const before = await Promise.all([text(directory, 'app.config.json'), text(directory, '.app', 'secret')])
  const { exitCode, json } = await runApp('init', directory, '--json')
  t.equal(exitCode, 0)
  t.strictSame(json.made, [])
  t.strictSame(
    await Promise.all([text(directory, 'app.config.json'), text(directory, '.app', 'secret')]),
    before,
  )
})

t.test('init creates the uncommitted files of a fresh clone', async (t) => {
  const directory = t.testdir({})
  await runApp('init', directory)
  const config = await text(directory, 'app.config.json')
  await rm(join(directory, '.app'), { recursive: true })
  const { json } = await runApp('init', directory, '--json')
  t.ok(json.made.includes('.app/secret'))
  t.notOk(json.made.includes('app.config.json'))
  t.equal(await text(directory, 'app.config.json'), config)
})

t.test('a folder with other files keeps them', async (t) => {
  const directory = t.testdir({ '.gitignore': 'mine\n', 'README.md': 'mine' })
  await mkdir(join(directory, 'data'))
  await writeFile(join(directory, 'data', 'mine'), 'mine')
  t.equal((await runApp('init', directory)).exitCode, 0)
  t.equal(await text(directory, '.gitignore'), 'mine\n')
  t.equal(await text(directory, 'README.md'), 'mine')
  t.equal(await text(directory, 'data', 'mine'), 'mine')
})

t.test('a file in place of the folder is a clear failure', async (t) => {
  const root = t.testdir({ file: 'x' })
  const { exitCode, json } = await runApp('init', join(root, 'file'), '--json')
  t.equal(exitCode, 2)
  t.match(json.error.message, /is a file/)
})

t.test('init reports a new secret of an existing application, but not a first one', async (t) => {
  const directory = t.testdir({})
  t.notMatch((await runApp('init', directory)).stdout, /are invalid now/)
  await rm(join(directory, '.app', 'secret'))
  t.match((await runApp('init', directory)).stdout, /new secret.*are invalid now/)
})

t.test('init inside another application creates a new one and says so', async (t) => {
  const outer = t.testdir({})
  t.match((await runApp('init', outer, '--json')).json, { inside: null })
  const inner = join(outer, 'inner')
  const { exitCode, stdout } = await runApp('init', inner)
  t.equal(exitCode, 0)
  t.match(stdout, `inside another application, ${outer}`)
  t.match((await runApp('init', inner, '--json')).json, { inside: outer, made: [] })
})

t.test('--help explains --dir of init', async (t) => {
  t.match((await runApp('init', '--help')).stdout, /--dir <dir> +the folder of the new application/)
  t.match((await runApp('start', '--help')).stdout, /--dir <dir> +the application folder/)
})
