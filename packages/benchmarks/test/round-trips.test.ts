import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines, type TestHost } from '@mortise/module-testkit'
import { Connection } from 'pg'
import { type Test, test } from 'tap'

const folderOf = (name: string) => dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
const modules = ['@mortise/api-cart', '@mortise/api-purchase'].map((name) => ({ directory: folderOf(name) }))

/** What is sent before an answer is waited for: the statements, by their first words. */
type RoundTrip = string[]

/** The parts of the driver's connection that a batch of statements uses. */
interface Driver {
  parse(query: { name: string; text: string }): void
  bind(config: { statement: string }): void
  sync(): void
}

const driver = Connection.prototype as unknown as Driver

/** The round trips of each transaction on any connection, while `work` runs. */
async function transactionsOf(work: () => Promise<unknown>): Promise<RoundTrip[][]> {
  const { bind, sync } = driver
  const transactions: RoundTrip[][] = []
  const open = new Map<Driver, { trips: RoundTrip[]; unsent: RoundTrip }>()
  driver.bind = function (this: Driver, config) {
    const text = texts.get(config.statement) ?? ''
    const own = open.get(this) ?? { trips: [], unsent: [] }
    own.unsent.push(/^\s*((?:INSERT INTO|DELETE FROM|UPDATE) \w+|\w+)/.exec(text)?.[1] ?? text)
    open.set(this, own)
    return bind.call(this, config)
  }
  driver.sync = function (this: Driver) {
    const { trips, unsent } = open.get(this) ?? { trips: [], unsent: [] }
    trips.push(unsent)
    open.set(this, { trips, unsent: [] })
    if (unsent.at(-1) === 'COMMIT' || trips[0]?.[0] !== 'BEGIN') {
      transactions.push(trips)
      open.delete(this)
    }
    return sync.call(this)
  }
  await work()
  Object.assign(driver, { bind, sync })
  return transactions
}

/** The texts of prepared statements, by name. */
const texts = new Map<string, string>()
const { parse } = driver
driver.parse = function (this: Driver, query) {
  texts.set(query.name, query.text)
  return parse.call(this, query)
}

const add = (caller: ReturnType<TestHost['user']>, headers = {}) =>
  caller.post('/cart/item', { product: 'tea', quantity: 1 }, headers)

const touch = 'INSERT INTO cart'
const line = ['INSERT INTO cart_item']
const event = 'INSERT INTO mortise_event_new'
const key = 'INSERT INTO mortise_idempotency'

onEngines<Test>(test)('the round trips to PostgreSQL of each write', async (t) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  if (host.database.engine === 'sqlite') return
  const [user, guest, stranger] = [host.user('ann'), host.guest(), host.guest()]
  const items = ['tea', 'milk', 'bread'].map((product) => ({ product, quantity: 1 }))
  let requests = 0
  const withKey = () => ({ 'idempotency-key': `key-${requests++}` })
  // What a caller has and a connection has prepared makes a difference.
  for (const caller of [user, guest]) {
    await add(caller, withKey())
    await caller.post('/purchase', { items }, withKey())
  }
  const check = async (
    work: () => Promise<{ statusCode: number }>,
    marker: string,
    expected: RoundTrip[],
  ) => {
    const transactions = await transactionsOf(async () => t.match(`${(await work()).statusCode}`, /^20[01]$/))
    const [found] = transactions.filter((trips) => trips.flat().includes(marker))
    t.strictSame(found, expected)
  }
  await check(() => add(user), touch, [['BEGIN', touch], line, [event, 'COMMIT']])
  await check(() => add(guest), touch, [['BEGIN', 'UPDATE mortise_guest', touch], line, [event, 'COMMIT']])
  await check(() => add(user, withKey()), touch, [['BEGIN', key, touch], line, [event, key, 'COMMIT']])
  await check(() => add(guest, withKey()), touch, [
    ['BEGIN', key, 'UPDATE mortise_guest', touch],
    line,
    [event, key, 'COMMIT'],
  ])
  await check(() => add(stranger), touch, [
    ['BEGIN', touch],
    line,
    [event, 'INSERT INTO mortise_guest', 'COMMIT'],
  ])
  const purchase = [
    'INSERT INTO purchase',
    'INSERT INTO purchase_item',
    'INSERT INTO purchase_rank_change',
    event,
  ]
  const buy = (caller: typeof user, headers = {}) => caller.post('/purchase', { items }, headers)
  await check(() => buy(user), 'INSERT INTO purchase', [
    ['BEGIN', 'SELECT'],
    [...purchase, 'COMMIT'],
  ])
  await check(() => buy(guest, withKey()), 'INSERT INTO purchase', [
    ['BEGIN', key, 'UPDATE mortise_guest', 'SELECT'],
    [...purchase, key, 'COMMIT'],
  ])
})
