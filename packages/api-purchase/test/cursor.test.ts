import type { TestCaller } from '@mortise/module-testkit'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const UNKNOWN = 'purchase_01kahr3v8ze5x9g2w0m4c7t6ys'
const tea = { items: [{ product: 'tea', quantity: 2 }] }

async function purchased(caller: TestCaller, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) ids.unshift((await caller.post('/purchase', tea)).json().id)
  return ids
}

/** Reads a list as a client does: the first page, then what follows the last id. */
async function* walk(caller: TestCaller, query: string): AsyncGenerator<string[]> {
  let path = `/purchase?${query}`
  for (let requests = 0; requests < 100; requests++) {
    const { data } = (await caller.get(path)).json()
    const ids: string[] = data.map(({ id }: { id: string }) => id)
    if (ids.length === 0) return
    yield ids
    path = `/purchase?${query}&after=${ids.at(-1)}`
  }
  throw new Error('the walk has no end')
}

for (const { name, scope, query } of [
  { name: 'their list', scope: undefined, query: '' },
  { name: "everyone's list", scope: 'purchase:read', query: '&owner=*' },
]) {
  testOnEngines(
    `a client that cancels what it reads gets each pending purchase of ${name} once`,
    async (t) => {
      const host = await purchaseHost(t, { rehearse: false })
      const ann = host.user('ann', scope)
      const made = await purchased(ann, 60)
      const met: string[] = []
      for await (const ids of walk(ann, `status=pending&rpp=10${query}`)) {
        met.push(...ids)
        for (const id of ids) await ann.patch(`/purchase/${id}`, { status: 'cancelled' })
      }
      t.same(met, made)
    },
  )

  testOnEngines(`a client that deletes what it reads gets each purchase of ${name} once`, async (t) => {
    const host = await purchaseHost(t, { rehearse: false })
    const ann = host.user('ann', scope)
    const made = await purchased(ann, 25)
    const met: string[] = []
    for await (const ids of walk(ann, `rpp=10${query}`)) {
      met.push(...ids)
      for (const id of ids) await ann.delete(`/purchase/${id}`)
    }
    t.same(met, made)
  })
}

testOnEngines('a claim during a walk by cursor neither repeats nor skips a purchase', async (t) => {
  const host = await purchaseHost(t, { rehearse: false })
  const [ann, guest] = [host.user('ann'), host.guest()]
  const old = await purchased(ann, 20)
  await purchased(guest, 5)
  const made = [...(await purchased(ann, 12)), ...old]
  const met: string[] = []
  for await (const ids of walk(ann, 'rpp=10')) {
    if (met.length === 10) t.equal((await ann.claim(guest)).statusCode, 200)
    met.push(...ids)
  }
  t.equal(new Set(met).size, met.length)
  t.same(
    met.filter((id) => made.includes(id)),
    made,
  )
})

testOnEngines("a reader continues in a guest's list after its purchases were claimed", async (t) => {
  const host = await purchaseHost(t, { rehearse: false })
  const [guest, reader] = [host.guest(), host.user('reader', 'purchase:read')]
  const [id] = await purchased(guest, 1)
  const { owner } = (await reader.get(`/purchase/${id}`)).json()
  await host.user('ann').claim(guest)
  const response = await reader.get(`/purchase?owner=${owner}&after=${id}`)
  t.strictSame(response.json(), { data: [], rpp: 20 })
})

testOnEngines('the link after a cursor keeps the filters, and the response has no counts', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const [first, second, third, fourth] = await purchased(ann, 4)
  const response = await ann.get(`/purchase?status=pending,confirmed&rpp=2&after=${first}`)
  t.strictSame(Object.keys(response.json()).sort(), ['data', 'rpp'])
  t.match(response.json(), { data: [{ id: second }, { id: third }], rpp: 2 })
  const link = `</purchase?status=pending%2Cconfirmed&rpp=2&after=${third}>; rel="next"`
  t.equal(response.headers.link, link)
  const last = await ann.get(`/purchase?status=pending%2Cconfirmed&rpp=2&after=${third}`)
  t.match(last.json().data, [{ id: fourth }])
  t.equal(last.headers.link, undefined)
})

testOnEngines('a cursor that was never on the list is rejected', async (t) => {
  const host = await purchaseHost(t)
  const [ann, ben, guest] = [host.user('ann'), host.user('ben'), host.guest()]
  const [id] = await purchased(ann, 1)
  await guest.post('/guest')
  const refusals: object[] = []
  for (const caller of [ben, guest, host.guest()]) {
    for (const after of [id, UNKNOWN, '', '0', 'x', '%F0%9F%98%80', 'x'.repeat(2000)]) {
      const response = await caller.get(`/purchase?after=${after}`)
      t.equal(response.statusCode, 400, `after=${after?.slice(0, 40)}`)
      refusals.push({ ...response.json(), requestId: '' })
    }
  }
  for (const refusal of refusals) t.strictSame(refusal, refusals[0])
  t.match(refusals[0], { code: 'invalid-request', errors: [{ parameter: 'after' }] })
  const reader = host.user('reader', 'purchase:read')
  t.equal((await reader.get(`/purchase?owner=*&after=${UNKNOWN}`)).statusCode, 400)
  t.equal((await ben.get(`/purchase?owner=*&after=${id}`)).statusCode, 403)
})

testOnEngines('a cursor together with `page` or `until` is rejected', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const [id] = await purchased(ann, 1)
  for (const [query, parameters] of [
    ['page=1', ['page']],
    ['page=', ['page']],
    [`until=${id}`, ['until']],
    [`page=2&until=${id}`, ['page', 'until']],
  ] as const) {
    const response = await ann.get(`/purchase?after=${id}&${query}`)
    t.equal(response.statusCode, 400, query)
    t.same(
      response.json().errors.map(({ parameter }: { parameter: string }) => parameter),
      parameters,
    )
  }
})
