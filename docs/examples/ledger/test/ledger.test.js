import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { dirname } from 'node:path'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const ledger = dirname(import.meta.dirname)
const purchase = dirname(fileURLToPath(import.meta.resolve('@mortise/api-purchase/package.json')))

onEngines(test)('each purchase is booked, with the id of its job as the key', async (t) => {
  const booked = new Map()
  const server = createServer(async (request, response) => {
    booked.set(request.headers['idempotency-key'], await json(request))
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${server.address().port}/`
  const modules = [{ directory: purchase }, { directory: ledger }]
  const host = await createTestHost(t, { modules, config: { modules: { ledger: { url } } } })

  const bought = await host.user('ann').post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
  await host.reacted()
  const [[key, booking]] = booked
  assert.match(key, /^job_/)
  assert.deepEqual(booking, { purchase: bought.json().id, items: 1 })
})
