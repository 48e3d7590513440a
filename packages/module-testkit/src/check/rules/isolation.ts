import { type Exchange, isSuccess, type Person } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import { parametersOf } from '../world/ids.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'
import { differenceOf, takesLonger } from './indistinct.ts'
import { idsOfAnn, reachByBody } from './references.ts'

/** An id that nobody has. */
const NOBODYS = 'nobodys_01kahr3v8ze5x9g2w0m4c7t6ys'

const problemOf = ({ status, json }: Exchange) =>
  `${status} ${(json as { code?: string } | undefined)?.code ?? ''}`.trim()

export const foreignIds: Rule<World> = {
  code: 'foreign-id',
  finds: "another caller's id that does not give the same 404 as an unknown one",
  remedy: 'Name the owner in the WHERE of every statement: AND owner = caller.id.',
  async find(world) {
    const { ann, bob, guest } = world.people
    const found: Found[] = []
    const order = ['GET', 'PATCH', 'PUT', 'POST', 'DELETE']
    const routes = world.routes
      .filter((route) => route.access === 'caller' && parametersOf(route).length > 0)
      .toSorted((one, other) => order.indexOf(one.method) - order.indexOf(other.method))
    for (const route of routes) {
      const paths = [...ann.ids.paths(route).slice(0, 2), ...mixed(world, route)]
      for (const path of paths) {
        for (const stranger of [bob, guest]) {
          const why = found.some(({ where }) => where === route.where)
            ? undefined
            : await reach(world, route, path, stranger)
          if (why !== undefined) found.push({ where: route.where, why })
        }
      }
    }
    return [...found, ...(await reachByBody(world))]
  },
}

/** Under an own id, another caller's. */
function mixed({ people: { ann, bob } }: World, route: Route): string[] {
  if (parametersOf(route).length < 2) return []
  const [own] = bob.ids.paths(route)
  const [theirs] = ann.ids.paths(route)
  if (own === undefined || theirs === undefined) return []
  return [`${own.slice(0, own.lastIndexOf('/'))}/${theirs.slice(theirs.lastIndexOf('/') + 1)}`]
}

async function reach(
  world: World,
  route: Route,
  path: string,
  stranger: Person,
): Promise<string | undefined> {
  const { ann } = world.people
  const [sample] = world.requests({ ...ann, mark: stranger.mark } as Person, route, 1)
  const body = sample?.body === undefined ? {} : { body: sample.body }
  const theirs = await world.sendWatched(stranger, route, { ...body, path })
  const names = parametersOf(route).length
  const unknown = path.split('/').with(lastParameter(route), NOBODYS).join('/')
  const nobodys = await world.send(stranger, route, { ...body, path: names > 0 ? unknown : path })
  const who = stranger.name === 'guest' ? 'A guest' : 'Another user'
  if (theirs.changed) return `${who} changes rows: ${route.method} ${path} with an id of another user`
  if (isSuccess(theirs) && !isSuccess(nobodys))
    return `${who} gets ${theirs.status} for ${route.method} ${path}, with an id of another user`
  if (problemOf(theirs) !== problemOf(nobodys)) {
    return `${who} gets ${problemOf(theirs)} for an id of another user, and ${problemOf(nobodys)} for an unknown one: it shows who has what`
  }
  if (isSuccess(theirs) || names === 0) return undefined
  const difference = differenceOf(theirs, nobodys)
  if (difference !== undefined) return `${who} sees by ${difference} whether an id of another user exists`
  const slower = await takesLonger(
    () => world.send(stranger, route, { ...body, path }),
    () => world.send(stranger, route, { ...body, path: unknown }),
    theirs.took - nobodys.took,
  )
  return slower && `${who} waits ${slower} for an id of another user, and not for an unknown one`
}

const lastParameter = ({ path }: Route) => path.split('/').findLastIndex((segment) => segment.startsWith(':'))

/** Queries by which a list may be asked for others' rows. */
async function askForOthers(world: World): Promise<void> {
  const { ann, bob, guest } = world.people
  for (const stranger of [bob, guest]) {
    for (const { route, path } of world.lists(stranger)) {
      if (route.access === 'public') continue
      await world.send(stranger, route, { path })
      for (const [name, { type }] of Object.entries(route.schema.querystring?.properties ?? {}) as [
        string,
        { type?: string },
      ][]) {
        if (type !== 'string') continue
        for (const value of [ann.id ?? ann.name, '*', ann.mark, ...ann.ids.all.slice(0, 1)]) {
          await world.send(stranger, route, { path, query: `${name}=${encodeURIComponent(value)}` })
        }
      }
    }
  }
}

export const foreignRows: Rule<World> = {
  code: 'foreign-row',
  finds: "another caller's row in a response",
  remedy:
    'Name the owner in the WHERE of every statement; what everybody may read belongs on a route with access public.',
  async find(world) {
    await askForOthers(world)
    const { ann, bob, guest } = world.people
    const annsOnly = idsOfAnn(world)
    const found: Found[] = []
    for (const exchange of world.exchanges) {
      const { route, caller, text, url, body } = exchange
      if (route.access !== 'caller' || !isSuccess(exchange)) continue
      if (caller !== bob && caller !== guest) continue
      // An id of another user in the path is for the rule above.
      const asked = decodeURIComponent(url) + JSON.stringify(body ?? '')
      if (ann.ids.all.some((id) => asked.includes(id)) && !url.includes('?')) continue
      const secrets = [ann.mark, ...annsOnly.filter((id) => !caller.given.has(id))]
      const leaked = secrets.find((mark) => text.includes(mark) && !asked.includes(mark))
      if (leaked === undefined) continue
      const what = leaked === ann.mark ? 'a text' : `the id ${leaked}`
      found.push({ where: route.where, why: `${route.method} ${url} sends ${what} of another user` })
    }
    return found
  },
}
