import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { copiesOf } from '../run-app.ts'

// Several commands a test, on a machine that may be busy.
t.setTimeout(300_000)

/** `stock` provides a contract; `shop` can use it, `shelf` requires it. */
const installed = copiesOf(async ({ root, run }) => {
  const provider = `app.get('/stock', { config: { access: 'public' } }, async () => ({}))
    context.contracts.provide('stock', '1.0.0', { count: async () => 1 })`
  for (const [id, manifest, plugin] of [
    ['stock', { provides: { stock: '1.0.0' } }, provider],
    ['shop', { optional: { stock: '^1.0.0' } }, undefined],
  ] as const) {
    const file = await sampleTarball(join(root, `${id}.tgz`), { id, manifest, ...(plugin && { plugin }) })
    const { exitCode, stdout } = await run('module-install', '--yes', file)
    if (exitCode !== 0) throw new Error(stdout)
  }
})

const uses = { module: 'shop', of: 'stock', contract: 'stock', range: '^1.0.0', optional: true }
const said = /shop uses the contract "stock" \(\^1\.0\.0\) of stock, and continues without it/

for (const words of [['module-disable'], ['module-remove'], ['module-remove', '--purge']]) {
  t.test(`${words.join(' ')} names the modules that use a contract`, async (t) => {
    const { run } = await installed(t)
    const done = await run(...words, 'stock')
    t.match(done, { exitCode: 0, json: { dependants: [uses] } })
    t.match(done.stderr, said)
  })
}

t.test('a module that leaves too is no dependant', async (t) => {
  const { run } = await installed(t)
  t.strictSame((await run('module-disable', 'stock', 'shop')).json.dependants, [])
})

t.test('those that require it are named before the refusal', async (t) => {
  const { root, run } = await installed(t)
  const manifest = { requires: { stock: '^1.0.0' } }
  const file = await sampleTarball(join(root, 'shelf.tgz'), { id: 'shelf', manifest })
  t.match(await run('module-install', '--yes', file), { exitCode: 0 })
  const refused = await run('module-remove', 'stock')
  t.match(refused, { exitCode: 4, json: { error: { code: 'required' } } })
  t.match(refused.stderr, said)
  t.match(refused.stderr, /shelf requires the contract "stock" \(\^1\.0\.0\) of stock\./)
})
