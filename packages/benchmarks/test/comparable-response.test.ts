import t from 'tap'
import { comparableResponse } from '../src/comparable-response.ts'

const item = (id: string, createdAt: string, quantity: number, status = 201) =>
  Response.json({ id, quantity, createdAt }, { status, headers: { location: `/cart/item/${id}` } })

const one = 'item_01kahr3v8ze5x9g2w0m4c7t6ys'
const other = 'item_01kahr3v8ze5x9g2w0m4c7t6yt'

t.test('ids and times are alike', async (t) => {
  t.equal(
    await comparableResponse(item(one, '2026-11-21T09:30:00.000Z', 1)),
    await comparableResponse(item(other, '2026-11-21T09:30:00.001Z', 1)),
  )
})

t.test('anything else makes a difference: a value, the status, the prefix of an id', async (t) => {
  const time = '2026-11-21T09:30:00.000Z'
  const responses = await Promise.all(
    [
      item(one, time, 1),
      item(one, time, 2),
      item(one, time, 1, 200),
      item(one.replace('item', 'cart'), time, 1),
    ].map(comparableResponse),
  )
  t.equal(new Set(responses).size, responses.length)
})
