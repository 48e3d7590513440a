import { PageOf, pageQuery, Strict, walkQuery } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { createApp } from './create-app.ts'

const listOf = (total: number) => (scope: FastifyInstance) => {
  const querystring = Strict({ ...walkQuery, status: Type.Optional(Type.String()) })
  const schema = { querystring, response: { 200: PageOf(Type.Integer()) } }
  scope.get('/of/:shop/list', { config: { access: 'public' }, schema }, async ({ query }, reply) => {
    const { page, rpp } = query as { page: number; rpp: number }
    return reply.paged({ data: [], page, rpp, total, until: 'a+b/=' })
  })
}

/** The links of an answer, by relation. */
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
    [10_000_000, 500_000],
  ] as const) {
    const app = await createApp(t, { routes: listOf(total) })
    t.strictSame((await app.inject('/of/a/list')).json(), { data: [], page: 1, rpp: 20, total, pages })
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

t.test('a list without until has links without it, and refuses one', async (t) => {
  const app = await createApp(t, {
    routes: (scope) => {
      const schema = { querystring: Strict({ ...pageQuery }), response: { 200: PageOf(Type.Integer()) } }
      scope.get('/plain', { config: { access: 'public' }, schema }, async ({ query }, reply) => {
        const { page, rpp } = query as { page: number; rpp: number }
        return reply.paged({ data: [], page, rpp, total: 45 })
      })
    },
  })
  const { next } = linksOf((await app.inject('/plain')).headers.link)
  t.equal(next, '/plain?page=2&rpp=20')
  const refused = await app.inject('/plain?until=foo')
  t.equal(refused.statusCode, 400)
  t.match(refused.json().errors, [{ parameter: 'until', detail: 'is no known parameter' }])
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
