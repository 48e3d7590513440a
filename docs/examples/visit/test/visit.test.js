import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const visit = dirname(import.meta.dirname)
const tally = join(visit, '..', 'tally')

onEngines(test)('every visit is counted by the tally', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: tally }, { directory: visit }] })
  const ann = host.user('ann')
  assert.deepEqual((await ann.post('/visit')).json(), { number: 1 })
  assert.deepEqual((await ann.post('/visit')).json(), { number: 2 })
  const page = await ann.get('/tally?rpp=1')
  assert.deepEqual(page.json(), {
    data: [{ name: 'visit', count: 2 }],
    page: 1,
    rpp: 1,
    total: 1,
    totalIsExact: true,
    pages: 1,
  })
  assert.match(page.headers.link, /rel="first"/)
})
