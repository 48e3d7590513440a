import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import findMyWay from 'find-my-way'
import { hostProblems } from './problems.ts'
import { pathOf } from './request-head.ts'

interface UnknownRoutesOptions {
  readonly basePath: string
  /** Installed modules with unknown routes: any unknown path below the base path may be theirs. */
  readonly unavailable?: readonly string[]
}

/**
 * Refuses requests without a route, before access, parsing and body: 405 with `Allow` for a known
 * path with another method, otherwise 404, or 503 if the path may belong to a module. `/cart/` is
 * not `/cart`, and `/cart/item/` is not an item with an empty id. Register it before every route
 * and after the plugins that set headers on every response.
 */
export const unknownRoutes = fp<UnknownRoutesOptions>(async (app, { basePath, unavailable = [] }) => {
  const known = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
  const methods = new Set<string>()

  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat() as findMyWay.HTTPMethod[]) {
      if (url === '*') continue // the preflight route of CORS is no resource
      methods.add(name)
      if (!known.hasRoute(name, url)) known.on(name, url, () => {})
    }
  })

  // The only path that ends in a slash: `/` itself, below the base path.
  const root = `${basePath}/`
  const isCutOff = (path: string) => path !== root && path.length > 1 && path.endsWith('/')

  const mayBeModules = (path: string) =>
    unavailable.length > 0 && !isCutOff(path) && path.startsWith(`${basePath}/`)

  const allowedOn = (path: string) => {
    const route = path === root ? basePath || root : path
    return isCutOff(path) ? [] : [...methods].filter((name) => known.find(name as never, route))
  }

  const refuse = ({ url }: FastifyRequest): never => {
    const path = pathOf(url)
    const allowed = allowedOn(path)
    if (allowed.length === 0 && mayBeModules(path)) {
      throw hostProblems.create(
        'module-unavailable',
        `No other module has this path, and the routes of ${unavailable.join(', ')} are unknown now.`,
      )
    }
    if (allowed.length === 0) throw hostProblems.create('not-found')
    const allow = allowed.sort().join(', ')
    throw hostProblems.create('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } })
  }

  app.setNotFoundHandler(refuse)
  app.addHook('onRequest', (request, _reply, done) => {
    const path = pathOf(request.url)
    const isPreflights = request.routeOptions.url === '*'
    if (request.is404 || isCutOff(path) || (isPreflights && allowedOn(path).length === 0)) refuse(request)
    done()
  })
})
