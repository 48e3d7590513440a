import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { connect, shop } from './mcp-host.ts'

const CALLS = 5_000

const product = fc.constantFrom('tea', 'milk', 'café', '')
const quantity = fc.constantFrom(1, 2, 9_999, 0, 0.5)
const item = fc.record({ product, quantity })
const list = fc.record({ page: fc.constantFrom(1, 2), rpp: fc.constantFrom(1, 20, 0) }, { requiredKeys: [] })
const calls = fc.oneof(
  fc.record({ name: fc.constantFrom('getCart', 'getCartItem', 'deleteCart'), given: fc.constant({}) }),
  fc.record({ name: fc.constant('postCartItem'), given: fc.record({ body: item }) }),
  fc.record({
    name: fc.constant('postPurchase'),
    given: fc.record({
      body: fc.record({ items: fc.array(item, { maxLength: 3 }), takeFromCart: fc.boolean() }),
    }),
  }),
  fc.record({ name: fc.constant('getPurchase'), given: list }),
  fc.record({
    name: fc.constantFrom('getPurchaseById', 'deletePurchaseById', 'getCartItemById', 'deleteCartItemById'),
    given: fc.record({ id: fc.nat({ max: 20 }).map((index) => `#${index}`) }),
  }),
)

t.test('every response matches the output schema of its tool', async (t) => {
  const { user } = await shop(t, { config: { rateLimit: { max: 0 } } })
  const client = await connect(t, user('ann'))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const { tools } = await client.listTools()
  const validators = new Map(
    tools.map(({ name, outputSchema }) => [name, ajv.compile((outputSchema ?? false) as object)]),
  )
  const ids: string[] = []
  const seed = Date.now() % 1_000_000
  const outcomes = { succeeded: 0, refused: 0 }
  for (const { name, given } of fc.sample(calls, { numRuns: CALLS, seed })) {
    // An id that a call before has returned.
    const id =
      'id' in given ? (ids[Number(given.id.slice(1)) % Math.max(ids.length, 1)] ?? 'none') : undefined
    const result = await client.callTool({ name, arguments: { ...given, ...(id && { id }) } })
    if (result.isError) {
      outcomes.refused += 1
      continue
    }
    outcomes.succeeded += 1
    const validate = validators.get(name)
    if (!validate?.(result.structuredContent))
      t.fail(`${name} of seed ${seed}`, { errors: validate?.errors, found: result.structuredContent })
    const found = result.structuredContent as { id?: string | null }
    if (typeof found.id === 'string') ids[ids.length % 21] = found.id
  }
  t.ok(outcomes.succeeded > CALLS / 4, `${outcomes.succeeded} succeeded`)
  t.ok(outcomes.refused > CALLS / 20, `${outcomes.refused} were refused`)
})
