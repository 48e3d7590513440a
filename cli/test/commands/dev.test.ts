import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type SampleOptions, sampleFolder } from '../../../packages/installer/test/sample-module.ts'
import { outside } from '../outside.ts'
import { runApp } from '../run-app.ts'
import { startApp } from '../run-process.ts'

interface Started {
  readonly pid: number
  readonly url: string
  readonly docs: string
  readonly token: string
  readonly directory: string
}

/** `app dev` on a module. */
async function develop(t: Test, options: SampleOptions, ...argv: string[]) {
  const module = await sampleFolder(t.testdir(), options)
  const running = startApp(t, ['dev', module, '--json', ...argv])
  await running.says(/"token": .*\n.*\n}/)
  const started: Started = JSON.parse(running.stdout)
  return {
    ...started,
    module,
    running,
    /** Writes a file, and waits for what is said about it. */
    async save(file: string, text: string, said: RegExp) {
      running.stderr = ''
      await writeFile(join(module, file), text)
      await running.says(said)
      return running.stderr
    },
    async get(path: string) {
      const response = await fetch(started.url + path)
      return { status: response.status, text: await response.text() }
    },
    manifest: async () => JSON.parse(await readFile(join(module, 'package.json'), 'utf8')).mortise,
  }
}

const code = (body: string) => `import { defineModule, sql } from '@mortise/module-sdk'
const config = { access: 'public' }
export default defineModule('memo').plugin(async (app, { database }) => {
${body}
})
`
const route = (path: string, text: string) => `app.get('${path}', { config }, async () => '${text}')`
const table = (columns: string) => `CREATE TABLE memo (${columns})`

t.test('a save of JavaScript serves at once, and code that fails does not', async (t) => {
  const { save, get, manifest, directory, docs, token, running } = await develop(
    t,
    { id: 'memo', main: code(route('/memo', 'one')), json: { mortise: undefined } },
    '--port',
    '0',
  )
  t.strictSame((await manifest()).routes, ['GET /memo'], 'it writes the manifest')
  t.equal((await get('/memo')).text, 'one')
  t.equal((await fetch(docs)).status, 200)
  t.match(token, /^ey/)
  t.equal(await readFile(join(directory, '.gitignore'), 'utf8'), '*\n')
  // A request is one line.
  await running.says(/^\[\d\d:\d\d:\d\d\] GET \/memo 200 [\d.]+ ms$/m)

  await save(
    'index.js',
    code(`${route('/memo', 'two')}\n${route('/memo/new', 'new')}`),
    /Serves memo 1\.0\.0/,
  )
  t.equal((await get('/memo')).text, 'two')
  t.equal((await get('/memo/new')).text, 'new')
  t.strictSame((await manifest()).routes, ['GET /memo', 'GET /memo/new'])

  await save('index.js', code(route('/memo', 'three')), /Serves memo/)
  t.equal((await get('/memo/new')).status, 404, 'a removed route is gone')
  t.strictSame((await manifest()).routes, ['GET /memo'])

  const thrown = await save('index.js', code("throw new Error('no luck')"), /still serves/)
  t.match(thrown, /no luck \(index\.js:4\)/)
  const unparsed = await save('index.js', code('const = 1'), /still serves/)
  t.match(unparsed, /Unexpected token '=' \(index\.js:4\)/)
  t.match(await save('index.js', code('process.exit()'), /still serves/), /\(index\.js:4\)/)
  const failing = "app.get('/memo', { config }, async () => { throw new Error('bad response') })"
  const refused = await save('index.js', code(failing), /still serves/)
  t.match(refused, /GET \/memo responds with 500/)
  t.match(refused, /at .*[^/]\/index\.js:4/, 'the log has the place in the file of the author')
  t.notMatch(refused, '/.app/store/')
  t.equal((await get('/memo')).text, 'three')

  await save('index.js', code(route('/memo', 'three')), /that serves is the saved code/)
  await save('index.js', code(route('/memo', 'four')), /Serves memo/)
  t.equal((await get('/memo')).text, 'four')

  running.child.kill('SIGINT')
  t.equal(await running.ended, 0)
})

t.test('a changed migration creates the tables again, if the author says so', async (t) => {
  const files = {
    'migrations/001-memo.sql': table('text TEXT'),
    'migrations/001-memo.down.sql': 'DROP TABLE memo',
  }
  const columns = `app.get('/memo', { config }, async () => ({ rows: await database.many(sql\`SELECT name FROM pragma_table_info('memo')\`) }))`
  const main = code(columns)
  const silent = await develop(t, { id: 'memo', main, files }, '--port', '0')
  t.strictSame((await silent.manifest()).tables, 'memo')
  const said = await silent.save('migrations/001-memo.sql', table('text TEXT, done INTEGER'), /still serves/)
  t.match(said, /migrations\/001-memo\.sql of memo has changed/)
  t.match(said, /"app dev --yes"/)
  t.strictSame(JSON.parse((await silent.get('/memo')).text), { rows: [{ name: 'text' }] })
  silent.running.child.kill('SIGTERM')
  t.equal(await silent.running.ended, 0)

  const running = startApp(t, ['dev', silent.module, '--json', '--port', '0', '--yes'])
  await running.says(/"token": .*\n.*\n}/)
  t.match(running.stderr, /Serves memo/)
  const { url } = JSON.parse(running.stdout)
  running.stderr = ''
  await writeFile(join(silent.module, 'migrations/001-memo.sql'), 'CREATE TABLE memo (text')
  await running.says(/still serves/)
  t.match(running.stderr, /001-memo\.sql of memo failed/, 'a wrong one drops nothing')
  t.strictSame(await (await fetch(`${url}/memo`)).json(), { rows: [{ name: 'text' }, { name: 'done' }] })
  running.child.kill('SIGTERM')
  t.equal(await running.ended, 0)
})

t.test('type errors hold the switch, and an error names the line of the source', async (t) => {
  const source = (text: string) => `import { defineModule } from '@mortise/module-sdk'
const words: string = ${text}
export default defineModule('memo').plugin(async (app) => {
  if (words === 'bad') throw new Error('no luck')
  app.get('/memo', { config: { access: 'public' } }, async () => words)
})
`
  const compilerOptions = {
    ...{ target: 'es2023', module: 'nodenext', strict: true, skipLibCheck: true, types: [] },
    ...{ rootDir: 'src', outDir: 'dist' },
  }
  const { save, get, running, directory, module, pid } = await develop(
    t,
    {
      id: 'memo',
      files: {
        'src/index.ts': source("'one'"),
        'tsconfig.json': JSON.stringify({ compilerOptions, include: ['src'] }),
      },
      json: { exports: './dist/index.js', files: ['dist', '!dist/*.map.bak'] },
    },
    '--port',
    '0',
  )
  t.equal((await get('/memo')).text, 'one')
  const wrong = await save('src/index.ts', source('2'), /still serves/)
  t.match(wrong, /^src\/index\.ts\(2,7\): error TS2322: /m)
  t.equal((await get('/memo')).text, 'one')
  t.match(
    await save('src/index.ts', source("'bad' as string"), /still serves/),
    /no luck \(src\/index\.ts:4\)/,
  )
  await save('src/index.ts', source("'three'"), /Serves memo/)
  t.equal((await get('/memo')).text, 'three')

  const listed = await runApp('module-list', '--dir', directory, '--json')
  t.match(listed.json.modules, [{ id: 'memo', state: 'active' }], 'other commands work on the application')

  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  running.child.kill('SIGKILL')
  await running.ended
  for (const child of children.trim().split(' ').filter(Boolean))
    while (existsSync(`/proc/${child}`)) await setTimeout(20)
  await rm(join(module, 'package.json'))
  t.match((await runApp('dev', module, '--json')).json.error, { exitCode: 3 })
})

t.test('what the module requires is installed beside it, and stays', async (t) => {
  const shelf = await sampleFolder(join(t.testdir(), 'shelf'), {
    id: 'shelf',
    manifest: { provides: { shelf: '1.0.0' } },
    plugin: `context.contracts.provide('shelf', '1.0.0', { books: 7 })
      app.get('/shelf', { config: { access: 'public' } }, async () => ({}))`,
  })
  const main = (more: string) => `import { defineModule } from '@mortise/module-sdk'
export default defineModule('memo').plugin(async (app, { contracts }) => {
  app.get('/memo', { config: { access: 'public' } }, async () => contracts.get('shelf').books + '${more}')
})
`
  const module = await sampleFolder(join(t.testdirName, 'memo'), {
    id: 'memo',
    main: main(''),
    manifest: { requires: { shelf: '^1.0.0' } },
  })
  const running = startApp(t, ['dev', module, '--json', '--port', '0'])
  await running.says(/"token": .*\n.*\n}/)
  const { url, directory }: Started = JSON.parse(running.stdout)
  t.match(running.stderr, /shelf/)
  running.stderr = ''
  t.equal((await runApp('module-install', '--yes', shelf, '--dir', directory, '--json')).exitCode, 0)
  await running.says(/Serves memo/)
  t.equal(await (await fetch(`${url}/memo`)).text(), '7')
  running.stderr = ''
  await writeFile(join(module, 'index.js'), main('!'))
  await running.says(/Serves memo/)
  t.equal(await (await fetch(`${url}/memo`)).text(), '7!')
  t.equal((await fetch(`${url}/shelf`)).status, 200)
})

t.test('a module without its TypeScript is refused at once', async (t) => {
  const folder = await outside(t)
  await sampleFolder(folder, { files: { 'tsconfig.json': '{}' } })
  const { json } = await runApp('dev', folder, '--json')
  t.match(json.error, { code: 'no-typescript', exitCode: 3 })
})

t.test('the application of an operator is refused', async (t) => {
  const module = await sampleFolder(t.testdir())
  const directory = join(module, 'shop')
  await runApp('init', directory)
  const { json } = await runApp('dev', module, '--dir', directory, '--json')
  t.match(json.error, { code: 'not-for-development', exitCode: 2 })
})

t.test('a taken port is an error only if the author chose it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const module = await sampleFolder(t.testdir(), { id: 'memo' })
  const refused = startApp(t, ['dev', module, '--json', '--port', String(port)])
  t.equal(await refused.ended, 1)
  t.match(refused.stdout, '"port-in-use"')
  const running = startApp(t, ['dev', module, '--json'], [], undefined, {
    environment: { APP_SERVER_PORT: String(port) },
  })
  await running.says(/"token"/)
  t.match(running.stderr, /Taking another one/)
})
