import { type GuestClaim, respond, run, sql, type Transaction } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { hostProblems } from '../../src/http/problems.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { type ClaimHandler, ClaimHandlers } from '../../src/requests/claim-handlers.ts'
import { bearer, setCookies, testApp } from '../callers/test-app.ts'
import { type Open, testOnEngines } from '../engines.ts'

/** A host on which `take` hears of claims, which it notes in a table, and a guest. */
async function claiming(t: Test, open: Open, take: ClaimHandler = note, publicUrl?: string) {
  const storage = await open()
  await storage.migrate([hostMigrations])
  await storage.transaction(() => run(sql`CREATE TABLE taken (guest TEXT NOT NULL, owner TEXT NOT NULL)`))
  const claims = new ClaimHandlers(['notes'])
  claims.add('notes', take)
  const read = { meanwhile: async (): Promise<unknown> => undefined }
  const { app, failures } = await testApp(t, {
    storage,
    claims,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    routes: (app) => {
      app.get('/me', { config: { access: 'caller' } }, async (request) => request.caller.id)
      app.get('/things', { config: { access: 'caller' } }, async (request) => {
        await read.meanwhile()
        const { id } = request.caller
        const things = await storage.many(
          sql`SELECT owner FROM taken WHERE guest = ${id} AND owner = 'nobody'`,
        )
        if (things.length === 0) throw hostProblems.create('not-found', 'There is nothing.')
        return { id, things }
      })
      app.post('/me', { config: { access: 'caller' } }, (request) =>
        request.transaction(function* () {
          yield* run(sql`INSERT INTO taken (guest, owner) VALUES (${request.caller.id}, 'nobody')`)
          return respond(201, { id: request.caller.id })
        }),
      )
    },
  })
  const claim = async (headers: Record<string, string>, user = 'ann') =>
    app.inject({
      method: 'POST',
      url: '/guest/claim',
      headers: { authorization: await bearer(user), ...headers },
    })
  const becomeGuest = async () => {
    const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
    return { token, id: (await app.inject({ url: '/me', headers: { 'guest-token': token } })).body }
  }
  return {
    app,
    storage,
    claim,
    becomeGuest,
    read,
    failures,
    taken: () => storage.many(sql`SELECT * FROM taken`),
  }
}

function* note({ guest, user }: GuestClaim): Transaction<void> {
  yield* run(sql`INSERT INTO taken (guest, owner) VALUES (${guest}, ${user})`)
}

const ANN = 'user:urn%3Atest%3Aapplication:ann'

testOnEngines('repeated claims by one user claim the guest once', async (t, open) => {
  const { app, claim, becomeGuest, taken } = await claiming(t, open)
  const { token, id } = await becomeGuest()
  for (const responded of [await claim({ 'guest-token': token }), await claim({ 'guest-token': token })]) {
    t.equal(responded.statusCode, 200)
    t.strictSame(responded.json(), { claimed: true })
    t.strictSame(setCookies(responded), [])
  }
  t.strictSame(await taken(), [{ guest: id, owner: ANN }])
  t.equal((await app.inject({ url: '/me', headers: { 'guest-token': token } })).statusCode, 401)
  t.equal(
    (await app.inject({ method: 'POST', url: '/me', headers: { 'guest-token': token } })).statusCode,
    401,
  )
})

testOnEngines('one of two concurrent claims of a guest succeeds', async (t, open) => {
  const { claim, becomeGuest, taken } = await claiming(t, open)
  const { token } = await becomeGuest()
  const users = ['ann', 'ben', 'ann', 'ben']
  const responses = await Promise.all(users.map((user) => claim({ 'guest-token': token }, user)))
  const winners = new Set(users.filter((_, index) => responses[index]?.statusCode === 200))
  t.equal(winners.size, 1)
  t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 200, 404, 404])
  t.equal((await taken()).length, 1)
})

testOnEngines('every guest that cannot be claimed gives the same 404', async (t, open) => {
  const { storage, claim, becomeGuest, taken } = await claiming(t, open)
  const [ben, old] = [await becomeGuest(), await becomeGuest()]
  await claim({ 'guest-token': ben.token }, 'ben')
  await storage.transaction(() => run(sql`UPDATE mortise_guest SET expires_at = 1 WHERE claimed_by IS NULL`))
  const problems = new Set<string>()
  for (const token of [ben.token, old.token, 'x', '', 'A'.repeat(43), 'x'.repeat(4000)]) {
    const responded = await claim({ 'guest-token': token })
    t.equal(responded.statusCode, 404)
    t.equal(responded.json().code, 'guest-not-found')
    problems.add(responded.body.replace(responded.json().requestId, ''))
  }
  t.equal(problems.size, 1)
  t.equal((await taken()).length, 1)
})

testOnEngines('a claim needs a user and a guest', async (t, open) => {
  const { app, claim, becomeGuest, taken } = await claiming(t, open)
  const { token } = await becomeGuest()
  const post = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/guest/claim',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{',
    })
  for (const headers of [
    { 'guest-token': token },
    {},
    { cookie: `guest=${token}` },
    { authorization: 'Bearer x.y.z' },
  ]) {
    const refused = await post(headers as Record<string, string>)
    t.equal(refused.statusCode, 401)
    t.match(refused.headers['www-authenticate'], /^Bearer/)
  }
  const none = await claim({})
  t.equal(none.statusCode, 400)
  t.match(none.json().errors, [{ parameter: 'Guest-Token' }])
  t.equal(
    (await post({ authorization: await bearer('ann'), 'guest-token': token })).statusCode,
    400,
    'the body',
  )
  t.same(await taken(), [])
})

testOnEngines('a claim clears the cookie of the claimed guest and no other', async (t, open) => {
  const { app, claim, becomeGuest } = await claiming(t, open)
  const [one, other, third] = [await becomeGuest(), await becomeGuest(), await becomeGuest()]
  const cleared = [/^guest=; Max-Age=0; /]
  t.strictSame(setCookies(await claim({ 'guest-token': one.token, cookie: `guest=${other.token}` })), [])
  const responded = await claim({ cookie: `guest=${other.token}` })
  t.equal(responded.statusCode, 200)
  t.match(setCookies(responded), cleared)
  const both = await claim({ cookie: `guest=x; guest=${third.token}` })
  t.equal(both.statusCode, 200, 'one that is planted beside it keeps nobody out')
  t.strictSame(setCookies(both), [])
  const none = await app.inject({ url: '/me', headers: { cookie: `guest=x; guest=${third.token}` } })
  t.match(setCookies(none), cleared, 'once none of them is a guest')
  const [fourth, fifth] = [await becomeGuest(), await becomeGuest()]
  const cookie = `guest=${fourth.token}; guest=${fifth.token}`
  for (const { id } of [fourth, fifth]) {
    t.equal((await app.inject({ url: '/me', headers: { cookie } })).body, id)
    const claimed = await claim({ cookie })
    t.equal(claimed.statusCode, 200, 'the first who is still a guest')
    t.strictSame(setCookies(claimed), [])
  }
  t.equal((await claim({ cookie })).statusCode, 200, 'again')
  const unknown = await claim({ cookie: 'guest=x' })
  t.equal(unknown.statusCode, 404)
  t.match(setCookies(unknown), cleared)
  const later = await app.inject({ url: '/me', headers: { cookie: `guest=${other.token}` } })
  t.equal(later.statusCode, 200)
  t.not(later.body, other.id)
  t.match(setCookies(later), cleared)
})

testOnEngines('a guest that is claimed during a read gets an error and no data', async (t, open) => {
  const { app, claim, becomeGuest, read } = await claiming(t, open, function* ({ guest, user }) {
    yield* run(sql`UPDATE taken SET owner = ${user} WHERE guest = ${guest}`)
  })
  for (const has of [true, false]) {
    const headers = { 'guest-token': (await becomeGuest()).token }
    if (has) await app.inject({ method: 'POST', url: '/me', headers })
    read.meanwhile = async () => {}
    t.equal((await app.inject({ url: '/things', headers })).statusCode, has ? 200 : 404)
    read.meanwhile = () => claim(headers)
    const responded = await app.inject({ url: '/things', headers })
    t.equal(responded.statusCode, 401)
    t.equal(responded.json().code, 'unauthorized')
    t.equal(responded.headers.etag, undefined)
  }
})

testOnEngines('a module that fails to take over leaves everything unchanged', async (t, open) => {
  let fails = true
  const { claim, app, becomeGuest, taken, failures } = await claiming(t, open, function* (reported) {
    yield* note(reported)
    if (fails) throw new Error('no luck')
  })
  const { token, id } = await becomeGuest()
  t.equal((await claim({ 'guest-token': token })).statusCode, 500)
  t.same(failures, ['no luck'])
  t.same(await taken(), [])
  t.equal(
    (await app.inject({ url: '/me', headers: { 'guest-token': token } })).body,
    id,
    'who is still a guest',
  )
  fails = false
  t.equal((await claim({ 'guest-token': token })).statusCode, 200)
})

testOnEngines(
  "a claim moves the guest's keys to the user, except keys that the user has used",
  async (t, open) => {
    const { app, claim, storage, becomeGuest } = await claiming(t, open)
    const { token, id } = await becomeGuest()
    const authorization = await bearer('ann')
    const post = async (key: string, headers: Record<string, string>) =>
      (
        await app.inject({ method: 'POST', url: '/me', headers: { 'idempotency-key': key, ...headers } })
      ).json().id
    await post('guest', { 'guest-token': token })
    await post('both', { 'guest-token': token })
    await post('both', { authorization })
    t.equal((await claim({ 'guest-token': token })).statusCode, 200)
    t.equal(await post('guest', { authorization }), id)
    t.equal(await post('both', { authorization }), ANN)
    t.same(await storage.many(sql`SELECT caller FROM mortise_idempotency WHERE caller <> ${ANN}`), [])
  },
)

testOnEngines('writes of a guest during its claim are transferred or refused', async (t, open) => {
  const { app, claim, becomeGuest, taken } = await claiming(t, open, function* ({ guest, user }) {
    yield* run(sql`UPDATE taken SET owner = ${user} WHERE guest = ${guest}`)
  })
  for (const by of ['header', 'cookie']) {
    const { token, id } = await becomeGuest()
    const headers: Record<string, string> =
      by === 'header' ? { 'guest-token': token } : { cookie: `guest=${token}` }
    const write = () => app.inject({ method: 'POST', url: '/me', headers })
    const [before, claimed, after] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, write)),
      claim({ 'guest-token': token }),
      Promise.all(Array.from({ length: 20 }, write)),
    ])
    t.equal(claimed.statusCode, 200)
    const done = [...before, ...after].filter(({ statusCode }) => statusCode === 201)
    const own = done.filter((responded) => responded.json().id === id)
    const rows = (await taken()).filter((row) => (row as { guest: string }).guest === id)
    t.same(
      rows,
      own.map(() => ({ guest: id, owner: ANN })),
    )
    t.same(
      [...before, ...after].filter(({ statusCode }) => ![201, 401].includes(statusCode)),
      [],
    )
  }
})
