import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

/** 100,000 by default: see the page. */
const LINES = Number(process.env.LINES ?? 100_000)

onEngines(test)('each line of a file is imported once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stock-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'stock.csv')
  await writeFile(file, Array.from({ length: LINES }, (_, index) => `p${index % 1000},1\n`).join(''))
  const modules = [{ directory: dirname(import.meta.dirname) }]
  // A rehearsal would run each transaction twice.
  const host = await createTestHost(t, { modules, config: { modules: { stock: { file } } }, rehearse: false })
  assert.equal((await host.user('root', 'admin').post('/stock/import', {})).statusCode, 202)
  await host.reacted()
  const { quantity } = (await host.guest().get('/stock/p7')).json()
  assert.equal(quantity, LINES / 1000)
})
