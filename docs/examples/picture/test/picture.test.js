import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const modules = [{ directory: dirname(import.meta.dirname) }]

function form(bytes, type = 'image/png') {
  const form = new FormData()
  form.append('title', 'The shop')
  form.append('picture', new File([bytes], 'shop.png', { type }))
  return form
}

onEngines(test)('a picture comes back as it was sent, and only to its caller', async (t) => {
  const host = await createTestHost(t, { modules })
  const ann = host.user('ann')
  for (const bytes of [Uint8Array.from({ length: 256 }, (_, value) => value), new Uint8Array(0)]) {
    const added = await ann.post('/picture', form(bytes))
    assert.equal(added.statusCode, 201, added.body)
    const { id, ...picture } = added.json()
    assert.deepEqual(picture, { title: 'The shop', mediaType: 'image/png', size: bytes.length })
    const shown = await ann.get(added.headers.location)
    assert.equal(shown.headers['content-type'], 'image/png')
    assert.deepEqual([...shown.rawPayload], [...bytes])
    assert.equal((await host.user('bob').get(`/picture/${id}`)).statusCode, 404)
  }
})

onEngines(test)('a picture that is too large, or none, is refused', async (t) => {
  const host = await createTestHost(t, { modules })
  const most = 256 * 1024
  assert.equal((await host.guest().post('/picture', form(new Uint8Array(most)))).statusCode, 201)
  assert.equal((await host.guest().post('/picture', form(new Uint8Array(most + 1)))).statusCode, 413)
  assert.equal((await host.guest().post('/picture', form('<svg/>', 'image/svg+xml'))).statusCode, 415)
})
