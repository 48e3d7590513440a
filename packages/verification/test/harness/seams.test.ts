import t from 'tap'
import { plant, replacement, type Seams } from '../../src/harness/seams.ts'
import { afterKills, bugs, inSlice, onPostgres } from '../../src/runs/linearizability/bugs.ts'
import * as stock from '../../src/runs/stock/bugs.ts'

t.test('each export that a bug replaces exists', async (t) => {
  t.ok(Object.keys(bugs).length > 10)
  for (const name of [...onPostgres, ...afterKills, ...inSlice]) t.ok(name in bugs, name)
  for (const name of [...stock.onPostgres, ...stock.inSlice]) t.ok(name in stock.bugs, name)
  for (const [bug, seams] of Object.entries({ ...bugs, ...stock.bugs })) {
    for (const place of Object.keys(seams)) {
      const [, folder, path, name = ''] = /^([^/]+)\/(.+)\.(\w+)$/.exec(place) ?? []
      const root = new URL('.', import.meta.resolve(`@mortise/${folder}/package.json`))
      const exported = await import(new URL(`dist/${path}.js`, root).href)
      t.type(exported[name], 'function', `${bug}: ${place}`)
    }
  }
})

t.test('an import of a file gets the replaced export, and the others', async (t) => {
  const notLoaded = plant({
    'host/callers/guests.Guests': ({ Guests }) => class Planted extends Guests {},
    'host/requests/transaction.transaction': ({ transaction }) => transaction,
  })
  const url = new URL('dist/callers/guests.js', import.meta.resolve('@mortise/host/package.json'))
  const { Guests, Guest } = await import(url.href)
  t.equal(Guests.name, 'Planted')
  t.equal(Guest.name, 'Guest')
  t.same(notLoaded(), ['host/requests/transaction'])
})

t.test('an export that is gone is an error', async (t) => {
  plant({ 'host/callers/guests.gone': () => () => {} } as Seams)
  t.throws(() => replacement({}, 'host/callers/guests', 'gone'), /has no export gone/)
})
