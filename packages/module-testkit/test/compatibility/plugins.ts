import type { TestCaller } from '../../src/test-caller.ts'

type RouteResponse = Awaited<ReturnType<TestCaller['get']>>

/** One line of docs/compatibility.md: `name.js` is its module. */
export interface Plugin {
  readonly name: string
  /** The file, and the packages that it tries. */
  readonly file: string
  readonly verdict: 'works' | 'works so' | 'refused'
  /** What to know; for a refused one, its message. */
  readonly note: string
  /** The route of the module; `GET /tea` by default. */
  readonly route?: string
  readonly send?: (caller: TestCaller) => Promise<RouteResponse>
  /** What the last response has. */
  readonly expected?: Readonly<Record<string, unknown>>
}

const green = { statusCode: 200, body: '{"tea":"green"}' }
const rows = { statusCode: 200, body: '{"data":[{"name":"green","cups":2}]}' }
const problem = (code: string, detail: string) => ({
  headers: { 'content-type': 'application/problem+json' },
  json: { code, detail },
})
const form = '--x\r\nContent-Disposition: form-data; name="f"; filename="tea.txt"\r\n\r\nhello\r\n--x--\r\n'

export const plugins: readonly Plugin[] = [
  {
    name: '@fastify/rate-limit',
    file: 'rate-limit',
    verdict: 'works',
    note: 'Counts in one process; the limits of the host count beside it.',
    async send(caller) {
      await caller.get('/tea')
      return caller.get('/tea')
    },
    expected: {
      statusCode: 429,
      headers: { 'retry-after': '60', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' },
      json: { code: 'rate-limited', detail: 'Rate limit exceeded, retry in 1 minute' },
    },
  },
  {
    name: '@fastify/sensible',
    file: 'sensible',
    verdict: 'works',
    note: 'Its errors become problems.',
    expected: { statusCode: 404, ...problem('not-found', 'There is no tea.') },
  },
  {
    name: '@fastify/multipart',
    file: 'multipart',
    verdict: 'works',
    note: 'For streams. Leave the body out of the schema, and set its limits. [`FilePart`](writing-a-module.md#files) is for files in the database.',
    route: 'POST /tea',
    send: (caller) => caller.post('/tea', form, { 'content-type': 'multipart/form-data; boundary=x' }),
    expected: { statusCode: 200, body: '{"name":"tea.txt","size":5}' },
  },
  {
    name: '@fastify/static',
    file: 'static',
    verdict: 'works so',
    note: 'With `serve: false` and a route of your own, which states its access.',
    route: 'GET /tea/*',
    send: (caller) => caller.get('/tea/tea.eta'),
    expected: { statusCode: 200, body: '<h1><%= it.tea %></h1>\n' },
  },
  {
    name: '@fastify/view',
    file: 'view',
    verdict: 'works',
    note: 'The pages have the content security policy of the host: no scripts, no styles.',
    expected: {
      statusCode: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: '<h1>green &amp; black</h1>\n',
    },
  },
  {
    name: '@fastify/compress',
    file: 'compress',
    verdict: 'works',
    note: 'A proxy in front of the host does the same for all modules.',
    send: (caller) => caller.get('/tea', { 'accept-encoding': 'gzip' }),
    expected: { statusCode: 200, headers: { 'content-encoding': 'gzip' } },
  },
  {
    name: '@fastify/formbody',
    file: 'formbody',
    verdict: 'works',
    note: 'The schema of the body counts for forms too.',
    route: 'POST /tea',
    send: (caller) =>
      caller.post('/tea', 'tea=green', { 'content-type': 'application/x-www-form-urlencoded' }),
    expected: green,
  },
  {
    name: '@fastify/under-pressure',
    file: 'under-pressure',
    verdict: 'works',
    note: 'For the routes of the module. The host refuses requests beyond its own limits.',
    expected: { statusCode: 503, headers: { 'retry-after': '7' }, json: { code: 'service-unavailable' } },
  },
  {
    name: '@fastify/jwt',
    file: 'jwt',
    verdict: 'works',
    note: 'For tokens of another system on public routes. The host verifies its own: use `caller`.',
    expected: {
      statusCode: 401,
      ...problem('unauthorized', 'No Authorization was found in request.headers'),
    },
  },
  {
    name: '@fastify/cookie',
    file: 'cookie',
    verdict: 'refused',
    note: 'it registers @fastify/cookie, and the host reads the cookies of its guests: parse the header "cookie", and send "set-cookie" with the package "cookie"',
  },
  {
    name: '@fastify/cors',
    file: 'cors',
    verdict: 'refused',
    note: 'it registers @fastify/cors, and the host responds to preflight requests for all modules: the operator sets cors.origins',
  },
  {
    name: '@fastify/helmet',
    file: 'helmet',
    verdict: 'refused',
    note: 'it registers @fastify/helmet, and the host sets the security headers of every response: change one with reply.header(…) in the route',
  },
  {
    name: '@fastify/caching',
    file: 'caching',
    verdict: 'refused',
    note: 'it registers @fastify/caching, and the host sets ETag, and no-store for what is not public: send cache-control with reply.header(…) in a public route',
  },
  {
    name: '@fastify/http-proxy',
    file: 'http-proxy',
    verdict: 'refused',
    note: 'it registers @fastify/http-proxy, and the host validates and documents each route: write the routes, and send their requests with fetch',
  },
  {
    name: '@fastify/websocket',
    file: 'websocket',
    verdict: 'refused',
    note: 'it registers @fastify/websocket, and WebSockets end with each change of what is installed: send events as text/event-stream instead',
  },
  {
    name: 'fastify-type-provider-zod',
    file: 'type-provider-zod',
    verdict: 'refused',
    note: "it calls setValidatorCompiler, and the host validates by the route's JSON Schema: check the rest in the handler, with invalidRequest(…); a schema of zod becomes one by z.toJSONSchema(…), without fastify-type-provider-zod",
  },
  {
    name: 'zod',
    file: 'zod',
    verdict: 'works so',
    note: 'With the JSON Schema that zod 4 writes.',
    route: 'POST /tea',
    async send(caller) {
      const wrong = await caller.post('/tea', { tea: 'green', cups: 10 })
      if (wrong.statusCode !== 400) return wrong
      return caller.post('/tea', { tea: 'green', cups: 2 })
    },
    expected: { statusCode: 200, body: '{"tea":"green","cups":2}' },
  },
  {
    name: 'kysely',
    file: 'kysely',
    verdict: 'works so',
    note: 'As [its page](kysely.md) shows.',
    expected: rows,
  },
  {
    name: 'drizzle-orm',
    file: 'drizzle',
    verdict: 'works so',
    note: 'Writes queries that the host runs. Its migrations and connections stay unused.',
    expected: rows,
  },
  {
    name: 'knex',
    file: 'knex',
    verdict: 'works so',
    note: 'Writes queries that the host runs. Its migrations and connections stay unused.',
    expected: rows,
  },
]
