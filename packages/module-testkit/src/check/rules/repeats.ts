import { randomUUID } from 'node:crypto'
import { type Exchange, isSuccess, writes } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

export const readsThatWrite: Rule<World> = {
  code: 'get-writes',
  finds: 'a GET that changes rows or emits an event: browsers, caches and self-checks send GETs at will',
  remedy: 'Write in a POST, or with everyMinute.',
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

/** A rule for a request that is sent again after it succeeded: why that is broken, or undefined. */
const forRepeats =
  (
    routesOf: (world: World) => readonly Route[],
    headersOf: () => Readonly<Record<string, string>>,
    broken: (again: Exchange & { readonly changed: boolean }, first: Exchange) => string | undefined,
  ): Rule<World>['find'] =>
  async (world) => {
    const found: Found[] = []
    for (const route of routesOf(world)) {
      const caller = world.allowed(route)
      for (const request of world.requests(caller, route, 4, 7)) {
        const sent = { ...request, headers: headersOf() }
        const first = await world.send(caller, route, sent)
        if (!isSuccess(first)) continue
        const why = broken(await world.sendWatched(caller, route, sent), first)
        if (why !== undefined) found.push({ where: route.where, why })
        break
      }
    }
    return found
  }

export const keys: Rule<World> = {
  code: 'key-ignored',
  finds: 'a write that a second request with the same Idempotency-Key repeats',
  remedy: 'End the route with return request.transaction(function* () { … }), and write nowhere else.',
  find: forRepeats(
    ({ routes }) =>
      routes.filter(({ method, access }) => ['POST', 'PATCH'].includes(method) && access !== 'public'),
    () => ({ 'idempotency-key': randomUUID() }),
    ({ route, changed, status, headers }, first) => {
      if (!changed && status === first.status && headers['idempotent-replayed'] === 'true') return undefined
      const what = changed ? 'changes rows again' : `responds with ${status}, not with the first response`
      return `the second ${route.method} with the same key ${what}`
    },
  ),
}

export const deletions: Rule<World> = {
  code: 'delete-repeats',
  finds: 'a DELETE that changes more when it is repeated',
  remedy: 'Delete exactly what the path names; if it is gone, respond with 404 or as before.',
  find: forRepeats(
    ({ routes }) =>
      routes
        .filter(({ method }) => method === 'DELETE')
        .toSorted((one, other) => other.path.length - one.path.length),
    () => ({}),
    ({ route, changed, status, url }) => {
      if (!changed && status < 500) return undefined
      return `the second ${route.method} ${url} ${changed ? 'changes more' : `responds with ${status}`}`
    },
  ),
}
