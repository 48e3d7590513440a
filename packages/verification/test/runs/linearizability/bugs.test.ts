import t from 'tap'
import { bugs } from '../../../src/runs/linearizability/bugs.ts'
import { plant, replacement, type Seams } from '../../../src/runs/linearizability/seams.ts'

t.test('each export that a bug replaces exists', async (t) => {
  t.ok(bugs.length > 10)
  for (const { name, seams } of bugs) {
    for (const [file, replaced] of Object.entries(seams)) {
      const [folder, path] = [file.slice(0, file.indexOf('/')), file.slice(file.indexOf('/') + 1)]
      const root = new URL('.', import.meta.resolve(`@mortise/${folder}/package.json`))
      const exported = await import(new URL(`dist/${path}.js`, root).href)
      for (const export_ of Object.keys(replaced))
        t.type(exported[export_], 'function', `${name}: ${export_}`)
    }
  }
})

t.test('whoever imports a file gets the replaced export, and the others', async (t) => {
  const notLoaded = plant({
    'host/callers/guests': { Guests: ({ Guests }) => class Planted extends Guests {} },
    'host/requests/transaction': {},
  })
  const url = new URL('dist/callers/guests.js', import.meta.resolve('@mortise/host/package.json'))
  const { Guests, Guest } = await import(url.href)
  t.equal(Guests.name, 'Planted')
  t.equal(Guest.name, 'Guest')
  t.same(notLoaded(), ['host/requests/transaction'])
})

t.test('an export that is gone is an error', async (t) => {
  plant({ 'host/callers/guests': { gone: () => () => {} } } as unknown as Seams)
  t.throws(() => replacement({}, 'host/callers/guests', 'gone'), /has no export gone/)
})
