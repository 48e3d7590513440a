import { CursorPageOf, cursorQuery, PageOf, pageQuery, Strict, walkQuery } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { createApp } from './create-app.ts'

const listOf = (total: number) => (scope: FastifyInstance) => {
  const querystring = Strict({ ...walkQuery, status: Type.Optional(Type.String()) })
  const schema = { querystring, response: { 200: PageOf(Type.Integer()) } }
  scope.get('/of/:shop/list', { config: { access: 'public' }, schema }, async ({ query }, reply) => {
    const { page, rpp } = query as { page: number; rpp: number }
    return reply.paged({ data: [], page, rpp, total, totalIsExact: true, until: 'a+b/=' })
  })
}

/** The links of a response, by relation. */
function linksOf(header: unknown): Record<string, string> {
  const links = [...String(header ?? '').matchAll(/<([^>]*)>; rel="(\w+)"(?:, |$)/g)]
  return Object.fromEntries(links.map(([, target, relation]) => [relation, target]))
}

t.test('adds the number of pages', async (t) => {
  for (const [total, pages] of [
    [0, 0],
    [1, 1],
    [20, 1],
    [21, 2],
    [10_000, 500],
  ] as const) {
    const app = await createApp(t, { routes: listOf(total) })
    t.strictSame((await app.inject('/of/a/list')).json(), {
      data: [],
      page: 1,
      rpp: 20,
      total,
      totalIsExact: true,
      pages,
    })
  }
})

t.test('links where there is something to link to', async (t) => {
  const app = await createApp(t, { routes: listOf(45) })
  const relations = async (query: string) => {
    const links = linksOf((await app.inject(`/of/a/list?${query}`)).headers.link)
    return Object.fromEntries(
      Object.entries(links).map(([relation, target]) => [
        relation,
        new URL(target, 'http://x').searchParams.get('page'),
      ]),
    )
  }
  t.strictSame(await relations('page=1'), { first: '1', next: '2', last: '3' })
  t.strictSame(await relations('page=2'), { first: '1', prev: '1', next: '3', last: '3' })
  t.strictSame(await relations('page=3'), { first: '1', prev: '2', last: '3' })
  t.strictSame(await relations('page=2147483647'), { first: '1', prev: '3', last: '3' })
  t.strictSame(await relations('rpp=100'), { first: '1', last: '1' })
  const empty = await createApp(t, { routes: listOf(0) })
  t.notOk((await empty.inject('/of/a/list')).headers.link)
})

t.test('keeps the filters, carries until, and is followed as it stands', async (t) => {
  const app = await createApp(t, { routes: listOf(45), basePath: '/api' })
  const response = await app.inject('/api/of/a/list?status=pending,confirmed&rpp=10&page=2&until=old')
  const { next = '' } = linksOf(response.headers.link)
  const url = new URL(next, 'http://x')
  t.ok(next.startsWith('/api/of/a/list?'), next)
  t.strictSame(Object.fromEntries(url.searchParams), {
    status: 'pending,confirmed',
    rpp: '10',
    page: '3',
    until: 'a+b/=',
  })
  t.equal((await app.inject(next)).statusCode, 200)
})

t.test('a list without `until` has links without it, and refuses the parameter', async (t) => {
  const app = await createApp(t, {
    routes: (scope) => {
      const schema = { querystring: Strict({ ...pageQuery }), response: { 200: PageOf(Type.Integer()) } }
      scope.get('/plain', { config: { access: 'public' }, schema }, async ({ query }, reply) => {
        const { page, rpp } = query as { page: number; rpp: number }
        return reply.paged({ data: [], page, rpp, total: 45, totalIsExact: true })
      })
    },
  })
  const { next } = linksOf((await app.inject('/plain')).headers.link)
  t.equal(next, '/plain?page=2&rpp=20')
  const refused = await app.inject('/plain?until=foo')
  t.equal(refused.statusCode, 400)
  t.match(refused.json().errors, [{ parameter: 'until', detail: 'is not a known parameter' }])
})

/** A list of two rows after `after`, which may be followed by others. */
const cursorList = (more: boolean) => (scope: FastifyInstance) => {
  const querystring = Strict({ ...walkQuery, ...cursorQuery, status: Type.Optional(Type.String()) })
  const schema = { querystring, response: { 200: CursorPageOf(Type.Object({ id: Type.String() })) } }
  scope.get('/walked', { config: { access: 'public' }, schema }, async ({ query }, reply) => {
    const { page, rpp, after } = query as { page: number; rpp: number; after?: string }
    const data = [{ id: 'note_1' }, { id: 'note 2>' }]
    return after === undefined
      ? reply.paged({ data, page, rpp, total: 45, totalIsExact: true })
      : reply.paged({ data, rpp, more })
  })
}

t.test('a cursor returns the next rows and a link to later ones', async (t) => {
  const app = await createApp(t, { routes: cursorList(true), publicUrl: 'https://shop.example' })
  const response = await app.inject('/walked?status=a,b&after=note_0&rpp=2')
  t.strictSame(response.json(), { data: [{ id: 'note_1' }, { id: 'note 2>' }], rpp: 2 })
  const links = linksOf(response.headers.link)
  t.strictSame(links, { next: 'https://shop.example/walked?status=a%2Cb&after=note+2%3E&rpp=2' })
  t.equal((await app.inject(String(links.next))).statusCode, 200)
  t.match((await app.inject('/walked')).json(), { page: 1, rpp: 20, total: 45, pages: 3 })

  const end = await createApp(t, { routes: cursorList(false) })
  t.equal((await end.inject('/walked?after=note_0')).headers.link, undefined)
})

t.test('a cursor together with a page, or the mark of a walk, is refused', async (t) => {
  const app = await createApp(t, { routes: cursorList(true) })
  for (const [query, parameters] of [
    ['page=1', ['page']],
    ['until=x', ['until']],
    ['until=x&page=3', ['page', 'until']],
  ] as const) {
    const response = await app.inject(`/walked?after=note_0&${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(response.json(), {
      code: 'invalid-request',
      errors: parameters.map((parameter) => ({
        parameter,
        detail: 'must not be sent with `after`',
      })),
    })
  }
  const refused = await app.inject('/walked?after=note_0&rpp=0')
  t.match(refused.json().errors, [{ parameter: 'rpp' }])
})

t.test('builds links from publicUrl where there is one', async (t) => {
  const app = await createApp(t, { routes: listOf(45), publicUrl: 'https://shop.example' })
  const { next } = linksOf(
    (await app.inject({ url: '/of/a/list', headers: { host: 'evil.example' } })).headers.link,
  )
  t.equal(next, 'https://shop.example/of/a/list?page=2&rpp=20&until=a%2Bb%2F%3D')
})

t.test('the path of a request cannot break out of a link', async (t) => {
  const app = await createApp(t, { routes: listOf(45) })
  const { link } = (await app.inject('/of/a%3E%22>;rel=%22next/list')).headers
  t.ok(String(link).startsWith('</of/a%3E%22%3E;rel=%22next/list?page=1'), String(link))
})
