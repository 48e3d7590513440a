import { createHash } from 'node:crypto'
import { DAY, deleteExpired, run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { Guest, Guests } from '../../src/callers/guests.ts'
import { testStorage } from './test-app.ts'

t.test('a new guest has an id and a 256-bit token of its own, and is stored nowhere', async (t) => {
  const storage = await testStorage(t)
  const guests = new Guests(storage)
  const [one, other] = [guests.create(), guests.create()]
  t.match(one.id, /^guest:guest_[0-9a-z]{26}$/)
  t.equal(Buffer.from(one.revealToken(), 'base64url').length, 32)
  t.not(one.id, other.id)
  t.not(one.revealToken(), other.revealToken())
  t.notOk(one.has('admin'))
  t.equal(await guests.find(one.revealToken(), 'header'), undefined)
})

t.test('a guest is found by its token, which is stored as a hash', async (t) => {
  const storage = await testStorage(t)
  const guests = new Guests(storage)
  const guest = guests.create()
  const before = Date.now()
  const expires = await storage.transaction(() => guests.store(guest))
  t.ok(expires >= before + 30 * DAY && expires <= Date.now() + 30 * DAY)

  const found = await guests.find(guest.revealToken(), 'cookie')
  t.equal(found?.id, guest.id)
  t.equal(found?.origin, 'cookie')
  const rows = await storage.many(sql`SELECT * FROM mortise_guest`)
  const hash = createHash('sha256').update(guest.revealToken()).digest('base64url')
  t.match(rows, [{ id: guest.key, token_hash: hash, expires_at: expires }])
  t.notMatch(JSON.stringify(rows), guest.revealToken())

  const token = guest.revealToken()
  const [letter] = token
  const others = [
    '',
    hash,
    `${token}=`,
    ` ${token}`,
    token.slice(1),
    `${letter === 'A' ? 'B' : 'A'}${token.slice(1)}`,
  ]
  for (const other of others) t.equal(await guests.find(other, 'header'), undefined, JSON.stringify(other))
})

t.test('an expired guest is unknown and cannot be renewed; a renewed one lasts 30 days more', async (t) => {
  const storage = await testStorage(t)
  const guests = new Guests(storage)
  const guest = guests.create()
  await storage.transaction(() => guests.store(guest))
  const expireAt = (time: number) =>
    storage.transaction(() => run(sql`UPDATE mortise_guest SET expires_at = ${time} WHERE id = ${guest.key}`))

  await expireAt(Date.now() + 60_000)
  const before = Date.now()
  t.ok(await storage.transaction(() => guests.renew(guest)))
  const { expires_at } = await storage.one<{ expires_at: number }>(sql`SELECT expires_at FROM mortise_guest`)
  t.ok(expires_at >= before + 30 * DAY)

  await expireAt(Date.now())
  t.equal(await guests.find(guest.revealToken(), 'header'), undefined)
  t.notOk(await storage.transaction(() => guests.renew(guest)))
})

t.test('a malformed token causes no read', async (t) => {
  const guests = new Guests({ maybeOne: () => t.fail('looked up') } as never)
  for (const token of ['', 'x', 'a, b', 'é'.repeat(43), `${'a'.repeat(42)}+`, 'a'.repeat(44)]) {
    t.equal(await guests.find(token, 'header'), undefined)
  }
})

t.test('no log line has a guest token', (t) => {
  const guest = new Guest('guest_1', 'the-token', 'new')
  t.notMatch(JSON.stringify(guest), 'the-token')
  t.notMatch(Object.values(guest), ['the-token'])
  t.end()
})

t.test('guests who have expired are deleted, a few at a time, and no others', async (t) => {
  const storage = await testStorage(t)
  const guests = new Guests(storage)
  await storage.transaction(function* () {
    for (let count = 0; count < 125; count++) yield* guests.store(guests.create())
    yield* run(sql`UPDATE mortise_guest SET expires_at = 1, expiry_day = 0`)
    yield* guests.store(guests.create())
  })
  const left = async () => (await storage.many(sql`SELECT id FROM mortise_guest`)).length
  const forget = () => storage.transaction(() => deleteExpired('mortise_guest'))
  t.ok(await forget(), 'there are more')
  t.equal(await left(), 76)
  t.ok(await forget())
  t.notOk(await forget())
  t.equal(await left(), 1)
})
