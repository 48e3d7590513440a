import { setImmediate as nextTurn } from 'node:timers/promises'
import { run, sql } from '@mortise/module-sdk'
import { eventHost, idOf, testOnEngines, walk } from '../event-host.ts'

testOnEngines('a walk shows every event once, in order, while they are written', async (t) => {
  const { ring, user } = await eventHost(t, { rehearse: false })
  const writing = (async () => {
    for (let index = 0; index < 40; index += 1) await Promise.all([ring(20), ring(20), ring(10)])
  })()
  let written = false
  const over = writing.finally(() => {
    written = true
  })
  const reader = user('reader', 'event:read')
  const seen: { id: string; data: { n: number } }[] = []
  for (let next = '/event?limit=100', isLast = false; !isLast; ) {
    isLast = written
    const page = (await reader.get(next)).json()
    seen.push(...page.data)
    next = page.next
    if (page.more) isLast = false
    await nextTurn()
  }
  await over
  t.equal(seen.length, 2_000)
  t.equal(new Set(seen.map(({ data }) => data.n)).size, 2_000)
  t.same(
    seen.map(({ id }) => id),
    (await walk(reader, '/event?limit=99')).map(({ id }) => id),
  )
})

testOnEngines('a caller sees their own events, and who has the scope everyone’s', async (t) => {
  const { ring, user, guest } = await eventHost(t)
  const [ann, ben] = [user('ann'), user('ben')]
  await ring(2, idOf('ann'))
  await ring(1, idOf('ben'))
  await ring(1)
  const numbers = async (caller: typeof ann, path?: string) =>
    (await walk(caller, path)).map(({ data }) => data.n)
  t.same(await numbers(ann), [1, 2])
  t.same(await numbers(ben), [3])
  t.same(await numbers(guest()), [])
  for (const scope of ['event:read', 'admin']) {
    t.same(await numbers(user('root', scope)), [1, 2, 3, 4])
    t.same(await numbers(user('root', scope), '/event?owner=*'), [1, 2, 3, 4])
    t.same(await numbers(user('root', scope), `/event?owner=${idOf('ann')}`), [1, 2])
  }
  for (const owner of [idOf('ann'), idOf('ben'), '*']) {
    const refused = await ann.get(`/event?owner=${owner}`)
    t.equal(refused.statusCode, 403)
    t.equal(refused.json().code, 'insufficient-scope')
  }
})

testOnEngines('an event is a CloudEvent, and `next` keeps the filters', async (t) => {
  const { hang, ring, user } = await eventHost(t, { config: { basePath: '/api' } })
  await ring(7, idOf('ann'))
  await hang('bell?', idOf('ann'))
  const ann = user('ann')
  const first = (await ann.get('/event?types=bell.rung,bell.hung&subject=bell_1&limit=2')).json()
  t.match(first, {
    data: [
      {
        specversion: '1.0',
        id: /^event_\w{26}$/,
        type: 'bell.rung',
        source: '/bell',
        subject: 'bell_1',
        time: /^\d{4}-.+Z$/,
        datacontenttype: 'application/json',
        data: { n: 1 },
      },
      { data: { n: 4 } },
    ],
    more: true,
  })
  t.equal(
    first.next,
    `/api/event?types=bell.rung%2Cbell.hung&subject=bell_1&limit=2&after=${first.data[1].id}`,
  )
  const last = (await ann.get(first.next.slice('/api'.length))).json()
  t.match(last, { data: [{ data: { n: 7 } }], more: false })
  t.match((await ann.get(last.next.slice('/api'.length))).json(), { data: [], next: last.next, more: false })
  t.match((await ann.get('/event?subject=bell_1&limit=3')).json(), { more: false })
  t.match((await ann.get('/event?subject=bell?&limit=1')).json(), {
    data: [{ type: 'bell.hung' }],
    next: /subject=bell%3F&limit=1/,
  })
  const none = (await user('ben').get('/event')).json()
  t.same(none, { data: [], next: '/api/event?after=start', more: false })
})

testOnEngines('an unknown event as cursor is 410', async (t) => {
  const { database, ring, user } = await eventHost(t)
  await ring(2, idOf('ann'))
  const ann = user('ann')
  const [oldest] = await walk(ann)
  await database.transaction(() => run(sql`DELETE FROM mortise_event WHERE position = 1`))
  const accept = { accept: 'text/event-stream' }
  for (const id of [oldest?.id, 'event_unknown', 'START', '0']) {
    const path = `/event?after=${id}`
    for (const response of [
      await ann.get(path),
      await ann.get(path, accept),
      await ann.get('/event', { ...accept, 'last-event-id': String(id) }),
    ]) {
      t.equal(response.statusCode, 410, String(id))
      t.equal(response.json().type, 'urn:problem-type:api-event:event-gone')
    }
  }
  t.equal((await walk(ann, '/event?after=start')).length, 1)
})

testOnEngines("another caller's event as cursor is like an unknown one", async (t) => {
  const { ring, user } = await eventHost(t)
  await ring(1, idOf('ann'))
  await ring(1)
  await ring(1, idOf('ben'))
  const root = user('root', 'event:read')
  const [anns, nobodys, bens] = (await walk(root)).map(({ id }) => id) as [string, string, string]
  const accept = { accept: 'text/event-stream' }
  const goOn = async (id: string) => {
    const responses = await Promise.all([
      user('ben').get(`/event?after=${id}`),
      user('ben').get(`/event?after=${id}&subject=bell_1&types=bell.rung`),
      user('ben').get(`/event?after=${id}`, accept),
      user('ben').get('/event', { ...accept, 'last-event-id': id }),
    ])
    return responses.map(({ statusCode, body }) => `${statusCode} ${body.replace(/"requestId":"[^"]+"/, '')}`)
  }
  const unknown = await goOn('event_unknown')
  for (const response of unknown) t.match(response, /^410 .*event-gone/)
  for (const id of [anns, nobodys]) t.same(await goOn(id), unknown)
  t.equal((await user('ben').get(`/event?after=${bens}`)).statusCode, 200)
  for (const id of [anns, nobodys, bens])
    for (const query of ['', `&owner=${idOf('ann')}`, '&subject=bell_2'])
      t.equal((await root.get(`/event?after=${id}${query}`)).statusCode, 200)
})

testOnEngines('a user can continue after an event of a claimed guest', async (t) => {
  const { app, database, events, ring, user } = await eventHost(t)
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const { id } = await database.one<{ id: string }>(sql`SELECT id FROM mortise_guest`)
  await ring(1, `guest:${id}`)
  const [seen] = await events()
  const cursor = `/event?after=${seen?.id}`
  const [ann, ben] = [user('ann'), user('ben')]
  t.equal((await ann.get(cursor)).statusCode, 410)
  t.equal((await ann.post('/guest/claim', undefined, { 'guest-token': token })).statusCode, 200)
  await ring(1, idOf('ann'))
  t.same(
    (await ann.get(cursor)).json().data.map(({ data }: { data: unknown }) => data),
    [{ n: 2 }],
  )
  t.equal((await ben.get(cursor)).statusCode, 410)
  const stream = await ann.request('HEAD', '/event', undefined, {
    accept: 'text/event-stream',
    'last-event-id': String(seen?.id),
  })
  t.equal(stream.statusCode, 200)
})

testOnEngines('a query without the sql tag is refused', async (t) => {
  const { user } = await eventHost(t)
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=1e1',
    'after=',
    'after=start&after=start',
    'types=',
    'types=bell',
    'types=bell.rung,',
    'types=Bell.rung',
    'type=bell.rung',
    'subject=',
    'owner=',
    'page=1',
  ]) {
    for (const accept of ['*/*', 'text/event-stream']) {
      const response = await user('ann', 'admin').get(`/event?${query}`, { accept })
      t.equal(response.statusCode, 400, query)
      t.equal(response.json().errors[0].parameter, query.split('=')[0])
    }
  }
})
