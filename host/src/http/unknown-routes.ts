import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import findMyWay from 'find-my-way'
import { hostProblems } from './problems.ts'

/**
 * Refuses what no route answers, before access, parsing and body: 405 with `Allow` for a known path with
 * another method, else 404. `/cart/` is not `/cart`, nor `/cart/item/` an item with an empty id.
 * To be registered before every route, and after the plugins that put headers on every answer.
 */
export const unknownRoutes = fp(
  async (app) => {
    const known = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
    const methods = new Set<string>()

    app.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat() as findMyWay.HTTPMethod[]) {
        if (url === '*') continue // the preflight route of CORS is no resource
        methods.add(name)
        if (!known.hasRoute(name, url)) known.on(name, url, () => {}, url)
      }
    })

    const refuse = ({ url }: FastifyRequest): never => {
      const allowed = [...methods].filter((name) => {
        const found = known.find(name as never, url)
        return found !== null && !isCutOff(url, found.store as string)
      })
      if (allowed.length === 0) throw hostProblems.create('not-found', 'No resource has this path.')
      const allow = allowed.sort().join(', ')
      throw hostProblems.create('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } })
    }

    app.setNotFoundHandler(refuse)
    app.addHook('onRequest', (request, _reply, done) => {
      if (request.is404 || isCutOff(request.url, request.routeOptions.url as string)) refuse(request)
      done()
    })
  },
  { name: 'unknown-routes', fastify: '5.x' },
)

const SLASH = 47

/** Whether a URL ends in a slash that the path of its route does not end in: `/cart/item/` for `/cart/item/:id`. */
function isCutOff(url: string, route: string): boolean {
  return hasTrailingSlash(url) && !route.endsWith('/')
}

function hasTrailingSlash(url: string): boolean {
  const end = url.search(/[?#]/)
  const length = end === -1 ? url.length : end
  return length > 1 && url.charCodeAt(length - 1) === SLASH
}
