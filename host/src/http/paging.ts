import type { CursorPage, LinkedPage, Page } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { invalidRequest } from './problems.ts'

type Parameters = Readonly<Record<string, string | number>>

/**
 * `reply.paged`: the links of a paged list (RFC 8288). Links keep the filters of the request. Page
 * links carry `until` if there is one, so that a walk shows the list as it was at the start. A link
 * after a cursor carries the next cursor. Without the origin that callers use, links are paths
 * relative to the host.
 */
export const paging = fp<{ readonly publicUrl?: string | undefined }>(async (app, { publicUrl = '' }) => {
  app.addHook('onRoute', (route) => {
    const { querystring } = (route.schema ?? {}) as { querystring?: { properties?: object } }
    const { page, after } = (querystring?.properties ?? {}) as Record<string, unknown>
    if (page && after) route.preValidation = [refusePageAndCursor, ...[route.preValidation ?? []].flat()]
  })
  app.decorateReply('paged', function paged<Item extends { readonly id: string }>(
    this: FastifyReply,
    list: Page<Item> | CursorPage<Item>,
  ) {
    const { response, links } = 'more' in list ? afterCursor(list) : atPage(list)
    const header = links.map(([relation, parameters]) => {
      return `<${publicUrl}${linkTo(this.request.url, parameters)}>; rel="${relation}"`
    })
    if (header.length > 0) this.header('link', header.join(', '))
    return response
  } as FastifyReply['paged'])
})

/** Runs before validation, which sets a default `page` in every request. */
function refusePageAndCursor({ query }: FastifyRequest, _reply: unknown, done: () => void): void {
  const sent = query as Record<string, unknown>
  const others = sent.after === undefined ? [] : ['page', 'until'].filter((name) => sent[name] !== undefined)
  if (others.length > 0) {
    const errors = others.map((parameter) => ({ parameter, detail: 'must not be sent with `after`' }))
    throw invalidRequest('The query of the request is invalid; see errors.', errors)
  }
  done()
}

interface Linked {
  readonly response: Partial<LinkedPage<unknown>>
  readonly links: [relation: string, parameters: Parameters][]
}

function afterCursor({ data, rpp, more }: CursorPage<{ readonly id: string }>): Linked {
  const last = data.at(-1)
  return { response: { data, rpp }, links: more && last ? [['next', { rpp, after: last.id }]] : [] }
}

function atPage({ data, page, rpp, total, totalIsExact, until }: Page<unknown>): Linked {
  const pages = Math.ceil(total / rpp)
  const links: Linked['links'] = Array.from(pagesToLink(page, pages), ([relation, number]) => [
    relation,
    { page: number, rpp, ...(until !== undefined && { until }) },
  ])
  return { response: { data, page, rpp, total, totalIsExact, pages }, links }
}

/** An empty list has no pages; from a page past the end, `prev` leads back to the last. */
function* pagesToLink(page: number, pages: number): Generator<[string, number]> {
  if (pages === 0) return
  yield ['first', 1]
  if (page > 1) yield ['prev', Math.min(page - 1, pages)]
  if (page < pages) yield ['next', page + 1]
  yield ['last', pages]
}

function linkTo(url: string, parameters: Parameters): string {
  const [path = '', query] = url.split('?', 2)
  const all = new URLSearchParams(query)
  for (const [name, value] of Object.entries(parameters)) all.set(name, String(value))
  // A path parameter may contain `>` or a quote, which would end the link.
  return `${path.replace(/[^!#-;=?-~]/g, encodeURIComponent)}?${all}`
}
