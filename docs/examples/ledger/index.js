import { defineModule, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const settings = Strict({ url: Type.String({ description: 'where the accounts are kept' }) })

export default defineModule('ledger', { settings }).plugin(async (_app, { settings, on, work }) => {
  const book = work('book', {}, async ({ id, data, signal }) => {
    const response = await fetch(settings.url, {
      method: 'POST',
      // The other system does the same request once, however often it comes.
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify(data),
      signal,
    })
    if (!response.ok) throw new Error(`${settings.url} responded with ${response.status}`)
  })

  on('purchase.created', function* ({ subject, data }) {
    yield* book.add({ purchase: subject, items: data.items.length })
  })
})
