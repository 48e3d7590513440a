import t, { type Test } from 'tap'
import { createTestHost, onEngines } from '../src/index.ts'
import { manifestOf, packageFolder } from './package-folder.ts'

const table = (name: string) => ({
  [`migrations/001-${name}.sql`]: `CREATE TABLE ${name} (name TEXT NOT NULL)`,
  [`migrations/001-${name}.down.sql`]: `DROP TABLE ${name}`,
})

const shop = (t: Test) =>
  packageFolder(t, {
    ...table('shop'),
    'package.json': manifestOf({
      ...{ id: 'shop', tables: 'shop', migrations: 'migrations' },
      ...{ provides: { shop: '1.0.0' }, events: ['shop.filled'] },
    }),
    'index.js': `import { defineModule, many, run, sql } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const { emit, plugin } = defineModule('shop', { events: { 'shop.filled': Type.Object({}) } })
      class Shop {
        #table = sql\`shop\`;
        *fill(name, also) {
          yield* run(sql\`INSERT INTO \${this.#table} (name) VALUES (\${name})\`)
          yield* emit('shop.filled', { subject: name, data: {} })
          yield* also()
          return (yield* many(sql\`SELECT name FROM shop\`)).map((row) => row.name)
        }
        *visit() { yield* run(sql\`DELETE FROM visit\`) }
      }
      export default plugin(async (app, { contracts }) => {
        contracts.provide('shop', '1.0.0', Object.freeze(new Shop()))
      })`,
  })

const routes = ['filled', 'through', 'direct', 'raw', 'compared'].map((name) => `POST /visit/${name}`)

/** Its handlers of events and claims name tables of others. */
const visit = (t: Test) =>
  packageFolder(t, {
    ...table('visit'),
    'package.json': manifestOf({
      ...{ id: 'visit', tables: 'visit', migrations: 'migrations' },
      ...{ requires: { shop: '^1.0.0' }, listensTo: ['shop.filled'], routes: ['GET /visit', ...routes] },
    }),
    'index.js': `import { respond, defineModule, many, run, sql } from '@mortise/module-sdk'
      const own = () => run(sql\`INSERT INTO visit (name) VALUES (\${'a'})\`)
      const foreign = () => run(sql\`DELETE FROM shop\`)
      export default defineModule('visit').plugin(async (app, { contracts, database, on, onClaim, work }) => {
        const config = { access: 'caller' }
        const schema = { response: { 200: {} } }
        const shop = contracts.required('shop')
        const jobs = work('job', {}, async () => {})
        const post = (name, steps, ifMatch) =>
          app.post('/visit/' + name, { config: { ...config, ifMatch }, schema }, (request) =>
            request.transaction(function* () {
              try {
                return respond(200, { result: yield* steps(request) })
              } catch ({ kind, message }) {
                return respond(200, { kind, message })
              }
            }))
        post('filled', function* (request) {
          yield* request.audit({ action: 'visit.filled', object: 'a' })
          yield* jobs.add({})
          return yield* shop.fill('apple', own)
        })
        post('through', function* () { yield* shop.visit() })
        post('direct', function* () { yield* own(); yield* foreign() })
        post('raw', function* () { yield { query: sql\`UPDATE shop SET name = 'b'\`, want: 'nothing' } })
        post('compared', own, { resource: 'it', *find() { yield* foreign() } })
        app.get('/visit', { config, schema }, () =>
          database.snapshot(() => many(sql\`SELECT name FROM shop\`)).catch(({ message }) => ({ message })))
        on('shop.filled', foreign)
        onClaim(foreign)
      })`,
  })

onEngines<Test>(t.test)(
  'steps of a module name its own tables, and a contract those of its provider',
  async (t) => {
    const modules = [{ directory: await visit(t) }, { directory: await shop(t) }]
    const host = await createTestHost(t, { modules, config: { log: { level: 'silent' } } })
    const ann = host.user('ann')
    const fill = async () => (await ann.post('/visit/filled')).json().result
    t.same(await fill(), ['apple'])
    await host.reacted()
    t.same(await fill(), ['apple', 'apple'], 'a handler has deleted nothing')
    const message = /^visit names "shop", which belongs to shop: ask that module through a contract/
    for (const name of ['direct', 'raw']) {
      t.match((await ann.post(`/visit/${name}`)).json(), { kind: 'refused', message }, name)
    }
    t.match((await ann.post('/visit/through')).json(), { message: /^shop names "visit"/ }, 'a contract')
    t.match((await ann.get('/visit')).json(), { message }, 'a snapshot')
    const compared = (headers = {}) => ann.post('/visit/compared', undefined, headers)
    t.equal((await compared()).statusCode, 200)
    t.equal((await compared({ 'if-match': '"1"' })).statusCode, 500, 'the resource of If-Match')
    const guest = host.guest()
    await guest.post('/visit/filled')
    t.equal((await ann.claim(guest)).statusCode, 500, 'a claim')
    t.equal((await fill()).length, 4, 'nobody has deleted a row')
  },
)
