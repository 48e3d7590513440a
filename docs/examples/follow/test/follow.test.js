import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const follow = dirname(import.meta.dirname)
const purchase = dirname(fileURLToPath(import.meta.resolve('@mortise/api-purchase/package.json')))

onEngines(test)('a caller follows their own purchases', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: purchase }, { directory: follow }] })
  const [ann, ben] = [host.user('ann'), host.user('ben')]
  const stream = await ann.begin('GET', '/follow')
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  for (const caller of [ben, ann])
    await caller.post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
  let text = ''
  for await (const part of stream.stream()) {
    text += part
    if (text.includes('data: ')) break
  }
  assert.match(text, /^event: purchase\.created$/m)
  assert.equal(JSON.parse(/^data: (.*)$/m.exec(text)[1]).owner, (await host.events())[1].owner)
})
