import { isSuccess } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import { parametersOf } from '../world/ids.ts'
import type { World } from '../world/world.ts'

interface Resource {
  readonly version?: unknown
  readonly [name: string]: unknown
}

export const versions: Rule<World> = {
  code: 'version-kept',
  finds:
    'a change of a resource that leaves its `version` as it was: `If-Match` does not see it, and a change is lost',
  remedy: `Raise it in the same statement: UPDATE … SET title = \${title}, version = version + 1.`,
  async find(world) {
    const found: Found[] = []
    for (const route of world.routes) {
      const { method } = route
      if (method === 'GET' || method === 'DELETE' || parametersOf(route).length === 0) continue
      const caller = world.allowed(route)
      const shows = world.routes
        .filter(
          (one) => one.method === 'GET' && (route.path === one.path || route.path.startsWith(`${one.path}/`)),
        )
        .find((one) => parametersOf(one).length > 0 && world.may(caller, one))
      if (shows === undefined) continue
      for (const request of world.requests(caller, route, 4, 23)) {
        const path = request.path?.split('/').slice(0, shows.path.split('/').length).join('/') ?? ''
        const read = async () => (await world.send(caller, shows, { path })).json as Resource | undefined
        const before = await read()
        if (typeof before?.version !== 'number') continue
        if (!isSuccess(await world.send(caller, route, request))) continue
        const after = await read()
        if (after === undefined || after.version !== before.version) continue
        const changed = Object.keys(after).find(
          (name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]),
        )
        if (changed === undefined) continue
        const why = `${method} ${request.path} changes "${changed}", and the version stays ${before.version}`
        found.push({ where: route.where, why })
        break
      }
    }
    return found
  },
}
