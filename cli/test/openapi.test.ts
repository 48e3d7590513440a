import { randomUUID } from 'node:crypto'
import { Application } from '@mortise/host/serving'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { copiesOf, testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'

// Every operation of the modules is driven into success and into its failures; each response is held against what the
// document says of it: status, code, content type, headers, body.

interface Media {
  readonly schema: object
}
interface ResponseObject {
  readonly description: string
  readonly headers?: Record<string, unknown>
  readonly content?: Record<string, Media>
}
interface Operation {
  readonly operationId: string
  readonly security: readonly Record<string, unknown>[]
  readonly responses: Record<string, ResponseObject>
}
interface Called extends Operation {
  readonly method: string
  readonly path: string
}
interface OpenapiDocument {
  readonly paths: Record<string, Record<string, Operation>>
}
type Headers = Record<string, string>
interface Sent {
  readonly path: string
  readonly headers?: Headers
  readonly body?: string | FormData
}

/** What every response may have, so that no operation says it. */
const general =
  /^(date|connection|keep-alive|content-(type|length)|transfer-encoding|cache-control|content-security-policy|x-content-type-options|referrer-policy|traceparent|x-accel-buffering)$/
const installed = copiesOf(({ run }) =>
  run('module-install', 'api-cart', 'api-purchase', 'api-product', 'api-event'),
)
const json = { 'content-type': 'application/json' }
const unknown = 'item_01kahr3v8ze5x9g2w0m4c7t6ys'
const tea = { id: 'tea', name: 'Tea', price: { amount: 450, currency: 'EUR' } }
const bodies: Record<string, object> = {
  postProduct: { ...tea, id: 'green tea' },
  patchProductById: { stock: 5 },
  putCart: { items: [{ product: 'tea', quantity: 2 }] },
  postCartItem: { product: 'tea', quantity: 2 },
  patchCartItemById: { quantity: 3 },
  postPurchase: { items: [{ product: 'tea', quantity: 2 }] },
  patchPurchaseById: { status: 'cancelled' },
  postWebhook: { url: 'https://shop.example/hook' },
  patchWebhookById: { description: 'the shop' },
}
/** What is wrong with a good body by the rules of a module. */
const refused: Record<string, object[]> = {
  postProduct: [tea, { ...tea, price: { amount: 1, currency: 'ABC' } }],
  postCartItem: [
    { product: 'tea', quantity: 9999 },
    { product: 'nothing', quantity: 1 },
  ],
  postPurchase: [
    { items: [{ product: 'gold', quantity: 1 }], takeFromCart: true },
    { items: Array(2).fill({ product: 'tea', quantity: 9999 }) },
  ],
  patchPurchaseById: [{ status: 'pending' }, { status: 'confirmed' }],
  postWebhook: [{ url: 'https://127.0.0.1/' }, { url: 'https://shop.example/', everyone: true }],
  patchProductById: [{ price: { amount: 1, currency: 'ABC' } }],
  patchWebhookById: [{ everyone: true }, { url: 'http://shop.example/' }],
}
/** The body of an operation that takes a form. */
function formOf(operationId: string): FormData | undefined {
  if (operationId !== 'postProductImport') return undefined
  const form = new FormData()
  form.set('file', new Blob([JSON.stringify(tea)]))
  form.set('format', 'jsonl')
  return form
}

/** Starts a host with everything installed, and a product. */
async function servedShop(t: import('tap').Test) {
  const { directory, run } = await installed(t)
  await run('config', 'set', 'api-cart.reservationMinutes', '10')
  const { url } = await runningHost(t, directory)
  const tokenOf = async (...argv: string[]): Promise<string> => (await run('token', ...argv)).json.token
  const manager = { authorization: `Bearer ${await tokenOf('manager', '--scope', 'product:manage')}` }
  const sold = { method: 'POST', headers: { ...manager, ...json }, body: JSON.stringify(tea) }
  t.equal((await fetch(`${url}/product`, sold)).status, 201)
  return { url, tokenOf, manager }
}

/** Queries that a module refuses. */
const queries: Record<string, string[]> = {
  getPurchase: ['page=0', 'status=gone', 'owner=*', 'until=nonsense'],
  getProduct: ['page=0', 'sort=price', 'q=%00', `after=${unknown}`],
  getWebhook: ['rpp=101', 'owner=*'],
  getEvent: [`after=${unknown}`, 'owner=*', 'limit=0'],
  getWebhookByIdDelivery: [`before=${unknown}`, 'state=gone'],
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
const jsonOf = async (response: Response | Promise<Response>): Promise<any> => (await response).json()

const operationsOf = (document: OpenapiDocument): Called[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )

async function documented(t: import('tap').Test, url: string) {
  const document = (await jsonOf(fetch(`${url}/openapi.json`))) as OpenapiDocument
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const compiled = new Map<string, ValidateFunction>()
  const met = new Map<string, Set<string>>()

  /** Sends it, and says in what the response is none of those that the document has. */
  async function send(operation: Called, { path, headers = {}, body }: Sent, method = operation.method) {
    const response = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) })
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    const text = isStream ? '' : await response.text()
    if (isStream) await response.body?.cancel()
    const { status } = response
    const found = operation.responses[status]
    const about = {
      sent: `${method} ${path}`,
      headers,
      body: typeof body === 'string' ? body.slice(0, 80) : body,
      status,
      text: text.slice(0, 300),
    }
    if (found === undefined)
      return t.fail(`${operation.operationId}: ${status} is not in the document`, about)
    const type = response.headers.get('content-type')?.split(';')[0] ?? ''
    const value = /json$/.test(type) && text !== '' ? JSON.parse(text) : undefined
    if (type !== '' && found.content?.[type] === undefined) t.fail(`${type} is not in the document`, about)
    if (value !== undefined) {
      const place = `/paths/${escaped(operation.path)}/${operation.method.toLowerCase()}/responses/${status}/content/${escaped(type)}/schema`
      const isValid = compiled.get(place) ?? ajv.compile({ $ref: `document#${encodeURI(place)}` })
      compiled.set(place, isValid)
      if (!isValid(value)) t.fail('the body is not as in the document', { ...about, errors: isValid.errors })
    }
    if (value?.code !== undefined && status >= 400) {
      if (!found.description.includes(`\`${value.code}\``))
        t.fail(`the document does not name ${value.code}`, about)
    }
    const named = new Set(Object.keys(found.headers ?? {}).map((name) => name.toLowerCase()))
    for (const name of response.headers.keys()) {
      if (!general.test(name) && !named.has(name)) t.fail(`the header ${name} is not in the document`, about)
    }
    const { operationId } = operation
    met.set(operationId, (met.get(operationId) ?? new Set()).add(String(status)))
    return { status, value, headers: response.headers }
  }
  return { operations: operationsOf(document), send, met }
}

const escaped = (segment: string) => segment.replaceAll('~', '~0').replaceAll('/', '~1')

// Seven hundred requests, on a machine with much else to do.
t.setTimeout(120_000)

t.test('every response matches the document', async (t) => {
  const { url, tokenOf, manager } = await servedShop(t)
  const { operations, send, met } = await documented(t, url)
  t.equal(operations.length > 20, true)

  for (const operation of operations) {
    const { method, operationId, path } = operation
    const writes = method !== 'GET'
    const guest = { 'guest-token': (await jsonOf(fetch(`${url}/guest`, { method: 'POST' }))).token }
    const isManaged = path.startsWith('/product') && operation.security.length > 0
    const user = isManaged ? manager : { authorization: `Bearer ${await tokenOf(operationId)}` }
    const form = formOf(operationId)
    const body = form ?? (bodies[operationId] && JSON.stringify(bodies[operationId]))
    const filled = (ids: Record<string, string>) =>
      path.replace(/\{(\w+)\}/g, (_all, name) => ids[name] ?? unknown)
    const strange = filled({})
    const withBody = (headers: Headers, text = body): Omit<Sent, 'path'> =>
      text === undefined
        ? { headers }
        : { headers: { ...headers, ...(typeof text === 'string' && json) }, body: text }
    /** Larger than the operation takes. */
    const huge = form
      ? { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: ' '.repeat(9_000_000) }
      : { headers: json, body: ' '.repeat(400_000) }

    for (const who of [{}, guest, user] as Headers[]) {
      await send(operation, { path: strange, ...withBody(who) })
      await send(operation, { path: `${strange}?nonsense=1`, ...withBody(who) })
      for (const query of queries[operationId] ?? [])
        await send(operation, { path: `${strange}?${query}`, headers: who })
      if (!writes) {
        await send(operation, { path: strange, headers: { ...who, 'if-none-match': '*' } })
        await send(operation, { path: strange, headers: { ...who, 'if-match': '"stale"' } })
        await send(operation, { path: strange, headers: who }, 'HEAD')
        await send(operation, { path: strange, headers: { ...who, accept: 'text/event-stream' } })
        continue
      }
      await send(operation, { path: strange, headers: { ...who, 'content-type': 'text/plain' }, body: 'x' })
      await send(operation, { path: strange, ...huge, headers: { ...who, ...huge.headers } })
      await send(operation, { path: strange, headers: { ...who, ...json }, body: '{"a": 1, "a": 2}' })
      await send(operation, { path: strange, headers: { ...who, ...json }, body: '{"nonsense": true}' })
      await send(operation, { path: strange, ...withBody({ ...who, 'if-match': '"stale"' }) })
      await send(operation, { path: strange, ...withBody({ ...who, 'idempotency-key': 'two words' }) })
    }
    await send(operation, { path: strange, ...withBody({ authorization: 'Bearer nonsense' }) })
    await send(operation, { path: strange, ...withBody({ 'guest-token': 'nonsense' }) })
    await send(operation, { path: strange, ...withBody({ cookie: 'guest=nonsense' }) })
    await send(operation, {
      path: strange,
      ...withBody({ 'sec-fetch-site': 'cross-site', cookie: 'guest=nonsense' }),
    })
    await send(operation, { path: strange, ...withBody({ ...user, ...guest }) })

    // With what is there, each caller their own.
    for (const who of [guest, user] as Headers[]) {
      const make = async (where: string, what?: object) => {
        const sent = what instanceof FormData ? what : what && JSON.stringify(what)
        const maker = where.startsWith('/product') ? manager : who
        const response = await fetch(url + where, { method: 'POST', ...withBody(maker, sent) })
        return response.ok ? (await jsonOf(response)).id : unknown
      }
      const ids: Record<string, string> = {}
      if (path.startsWith('/cart')) ids.id = await make('/cart/item', bodies.postCartItem)
      if (path.startsWith('/purchase')) ids.id = await make('/purchase', bodies.postPurchase)
      if (path.startsWith('/product/import'))
        ids.id = await make('/product/import', formOf('postProductImport'))
      else if (path.startsWith('/product')) ids.id = await make('/product', { ...tea, id: randomUUID() })
      if (path.startsWith('/webhook')) {
        ids.id = await make('/webhook', bodies.postWebhook)
        ids.delivery = await make(`/webhook/${ids.id}/test`)
      }
      const there = filled(ids)
      for (const wrong of refused[operationId] ?? []) {
        await send(operation, { path: there, ...withBody(who, JSON.stringify(wrong)) })
      }
      if (writes) {
        await send(operation, { path: there, ...withBody({ ...who, 'if-match': '"stale"' }) })
        const key = { ...who, 'idempotency-key': randomUUID() }
        await send(operation, { path: there, ...withBody(key) })
        await send(operation, { path: there, ...withBody(key) })
        await send(operation, { path: there, ...withBody({ ...key, 'if-match': '*' }) })
        const seen = operationId === 'patchProductById' && { 'if-match': '*' }
        await send(operation, { path: there, ...withBody({ ...who, ...seen }) })
        continue
      }
      await send(operation, { path: there, headers: { ...who, 'if-match': '"stale"' } })
      const shown = await send(operation, { path: there, headers: who })
      const etag = typeof shown === 'object' ? shown.headers.get('etag') : null
      if (etag) await send(operation, { path: there, headers: { ...who, 'if-none-match': etag } })
    }

    const found = met.get(operationId) ?? new Set()
    const expected = ['400']
    if (operation.security.length > 0) expected.push('401')
    if (writes) expected.push('413', '415')
    else if (!path.includes('{key}')) expected.push('412')
    if (/\{id\}/.test(path)) expected.push('404')
    for (const status of expected) t.ok(found.has(status), `${operationId} has returned ${status}`)
    t.ok(
      [...found].some((status) => status.startsWith('2')),
      `${operationId} has succeeded`,
    )
  }
})

t.test('every rate-limited operation returns the documented 429', async (t) => {
  const { directory } = await installed(t)
  const environment = { APP_LOG_LEVEL: 'silent', APP_RATE_LIMIT_MAX_PER_ADDRESS: '1' }
  const host = await Application.start({ directory, port: 0, environment })
  t.teardown(() => host.close())
  const { operations, send, met } = await documented(t, host.url)
  for (const operation of operations) await send(operation, { path: operation.path.replace(/[{}]/g, '') })
  for (const { operationId, responses } of operations) {
    const expected = '429' in responses ? '429' : '200'
    t.strictSame([...(met.get(operationId) ?? [])], [expected], operationId)
  }
})

t.test('an operation accepts exactly the callers in its security', async (t) => {
  const { url } = await servedShop(t)
  const { operations } = await documented(t, url)
  const securityOf = (id: string) => operations.find(({ operationId }) => operationId === id)?.security
  t.strictSame(securityOf('postWebhook'), [{ bearer: [] }])
  t.strictSame(securityOf('deleteProductById'), [{ bearer: ['product:manage'] }])
  t.strictSame(securityOf('postGuestClaim'), [
    { bearer: [], guestToken: [] },
    { bearer: [], guestCookie: [] },
  ])
  for (const { method, path, operationId, security } of operations) {
    const offersNobody = security.length === 0 || security.some((scheme) => Object.keys(scheme).length === 0)
    const response = await fetch(url + path, {
      method,
      ...(bodies[operationId] && { headers: json, body: JSON.stringify(bodies[operationId]) }),
    })
    await response.arrayBuffer()
    const { status } = response
    // Of a webhook nobody learns that it is there.
    const isRefused = [401, 403].includes(status) || (status === 404 && path.startsWith('/webhook/'))
    t.equal(!isRefused, offersNobody, `${operationId}: ${status} to nobody`)
  }
})

t.test('a guest succeeds exactly where security has guestToken', async (t) => {
  const { url } = await servedShop(t)
  const { operations } = await documented(t, url)
  for (const { method, path, operationId, security } of operations) {
    if (security.length === 0 || operationId === 'postGuestClaim') continue
    const token: string = (await jsonOf(fetch(`${url}/guest`, { method: 'POST' }))).token
    const ask = (method: string, path: string, body?: object, more: Headers = {}) =>
      fetch(url + path, {
        method,
        headers: { 'guest-token': token, ...more, ...(body && json) },
        ...(body && { body: JSON.stringify(body) }),
      })
    const key = randomUUID()
    const item = await jsonOf(ask('POST', '/cart/item', bodies.postCartItem, { 'idempotency-key': key }))
    const purchase = await jsonOf(ask('POST', '/purchase', bodies.postPurchase))
    const id = path.startsWith('/purchase') ? purchase.id : path.startsWith('/cart') ? item.id : unknown
    const there = path.replace('{id}', id).replace('{key}', key).replace('{delivery}', unknown)
    const response = await ask(method, there, bodies[operationId])
    await response.arrayBuffer()
    const offersGuests = security.some((scheme) => 'guestToken' in scheme)
    t.equal(![401, 403, 404].includes(response.status), offersGuests, `${operationId}: ${response.status}`)
  }
})

t.test(
  'the document has nothing that the modules do not use: no events without a sender, headers or schemas',
  async (t) => {
    const { directory, run } = await testApplication(t)
    t.equal((await run('module-install', 'api-cart')).exitCode, 0)
    const { url } = await runningHost(t, directory)
    const text = await (await fetch(`${url}/openapi.json`)).text()
    const { webhooks, components } = JSON.parse(text)
    t.equal(webhooks, undefined)
    t.equal(components.securitySchemes.webhookSignature, undefined)
    for (const kind of ['headers', 'schemas']) {
      for (const name of Object.keys(components[kind])) {
        t.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name} is used`)
      }
    }
  },
)

t.test('patterns work in every regular expression engine', async (t) => {
  const { directory } = await installed(t)
  const { url } = await runningHost(t, directory)
  const patterns = new Set<string>()
  JSON.parse(await (await fetch(`${url}/openapi.json`)).text(), (key, value) => {
    if (key === 'pattern' && typeof value === 'string') patterns.add(value)
    return value
  })
  t.ok(patterns.size > 5)
  for (const pattern of patterns) {
    t.doesNotThrow(() => [new RegExp(pattern), new RegExp(pattern, 'u')])
    t.notMatch(pattern, /\\[pPuckbB]|\\\d|\(\?/, pattern)
  }
})
