import type { Page } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'

export interface PagingOptions {
  /** The origin that callers use; without it links are paths relative to the host. */
  readonly publicUrl?: string | undefined
}

/**
 * `reply.paged`: the links of a paged list (RFC 8288). They keep the filters of the request, and carry
 * `until` where the page has one, so that whoever follows them walks the list as it stood.
 */
export const paging = fp<PagingOptions>(
  async (app, { publicUrl = '' }) => {
    app.decorateReply('paged', function paged<Item>(this: FastifyReply, page: Page<Item>) {
      const { data, rpp, total } = page
      const pages = Math.ceil(total / rpp)
      const links = [...pagesToLink(page.page, pages)].map(([relation, number]) => {
        return `<${publicUrl}${linkTo(this.request.url, number, page)}>; rel="${relation}"`
      })
      if (links.length > 0) this.header('link', links.join(', '))
      return { data, page: page.page, rpp, total, pages }
    })
  },
  { name: 'paging', fastify: '5.x' },
)

/** An empty list has no pages; from a page past the end, `prev` leads back to the last. */
function* pagesToLink(page: number, pages: number): Generator<[string, number]> {
  if (pages === 0) return
  yield ['first', 1]
  if (page > 1) yield ['prev', Math.min(page - 1, pages)]
  if (page < pages) yield ['next', page + 1]
  yield ['last', pages]
}

function linkTo(url: string, number: number, { rpp, until }: Page<unknown>): string {
  const [path = '', query] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  parameters.set('page', String(number))
  parameters.set('rpp', String(rpp))
  if (until !== undefined) parameters.set('until', until)
  // A parameter of the path may hold what would end the link: `>`, a quote.
  return `${path.replace(/[^!#-;=?-~]/g, encodeURIComponent)}?${parameters}`
}
