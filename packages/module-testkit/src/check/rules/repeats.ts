import { randomUUID } from 'node:crypto'
import { type Exchange, isSuccess, type Request, writes } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

export const readsThatWrite: Rule<World> = {
  code: 'get-writes',
  finds: 'a GET that changes rows or emits an event: browsers, caches and self-checks send GETs at will',
  mend: 'Write in a POST, or with everyMinute.',
  async find(world) {
    const found: Found[] = []
    for (const name of ['ann', 'guest', 'admin'] as const) {
      for (const { route, path } of world.lists(world.people[name])) {
        const sent = await world.send(world.people[name], route, { path })
        const write = writes(sent)
        if (write) found.push({ where: route.where, why: `GET ${sent.url} runs ${write.slice(0, 100)}` })
      }
    }
    return found
  },
}

/** A request of the route that succeeds, if one is found. */
async function succeed(
  world: World,
  route: Route,
  headers: () => Request['headers'],
): Promise<[Request, Exchange] | undefined> {
  const caller = world.allowed(route)
  for (const request of world.requests(caller, route, 4, 7)) {
    const sent = { ...request, headers: headers() ?? {} }
    const exchange = await world.send(caller, route, sent)
    if (isSuccess(exchange)) return [sent, exchange]
  }
  return undefined
}

export const keys: Rule<World> = {
  code: 'key-ignored',
  finds: 'a write that a second request with the same Idempotency-Key repeats',
  mend: 'End the route with return request.transaction(function* () { … }), and write nowhere else.',
  async find(world) {
    const found: Found[] = []
    for (const route of world.routes) {
      if (!['POST', 'PATCH'].includes(route.method) || route.access === 'public') continue
      const first = await succeed(world, route, () => ({ 'idempotency-key': randomUUID() }))
      if (first === undefined) continue
      const [request, exchange] = first
      const again = await world.sendWatched(exchange.caller, route, request)
      if (
        again.changed ||
        again.status !== exchange.status ||
        again.headers['idempotent-replayed'] !== 'true'
      ) {
        const what = again.changed
          ? 'changes rows again'
          : `responds with ${again.status}, not with the first response`
        found.push({ where: route.where, why: `the second ${route.method} with the same key ${what}` })
      }
    }
    return found
  },
}

export const deletions: Rule<World> = {
  code: 'delete-repeats',
  finds: 'a DELETE that changes more when it is repeated',
  mend: 'Delete exactly what the path names; if it is gone, respond with 404 or as before.',
  async find(world) {
    const found: Found[] = []
    const routes = world.routes.filter(({ method }) => method === 'DELETE')
    for (const route of routes.toSorted((one, other) => other.path.length - one.path.length)) {
      const first = await succeed(world, route, () => ({}))
      if (first === undefined) continue
      const [request, exchange] = first
      const { changed, status } = await world.sendWatched(exchange.caller, route, request)
      if (!changed && status < 500) continue
      const what = changed ? 'changes more' : `responds with ${status}`
      found.push({ where: route.where, why: `the second ${route.method} ${exchange.url} ${what}` })
    }
    return found
  },
}
