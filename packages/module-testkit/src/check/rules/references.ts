import { type Exchange, isSuccess, type Person } from '../world/exchange.ts'
import type { Found } from '../world/finding.ts'
import { textFields, withText } from '../world/text-fields.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

const isReference = (name: string) => /^id$|[a-z]Ids?$|_ids?$/.test(name)

/** An id of the same form that nobody has. */
const nobodys = (id: string) => `${id.slice(0, -6)}zzzzzz`

/** The ids that only ann has. */
export function idsOfAnn({ people: { ann, bob, admin, guest } }: World): string[] {
  const others = new Set([bob, admin, guest].flatMap(({ ids }) => ids.all))
  return ann.ids.all.filter((id) => !others.has(id) && id.length >= 8)
}

/** What bob gets, or changes, with ids of ann in the body. */
export async function reachByBody(world: World): Promise<Found[]> {
  const { bob } = world.people
  const own = new Set(idsOfAnn(world))
  const ids = world.people.ann.ids.firsts.filter((id) => own.has(id)).slice(0, 8)
  const found: Found[] = []
  for (const route of world.routes) {
    if (route.access !== 'caller' || route.schema.body === undefined) continue
    for (const id of ids) {
      const why = await reach(world, route, bob, id)
      if (why === undefined) continue
      found.push({ where: route.where, why })
      break
    }
  }
  return found
}

async function reach(world: World, route: Route, bob: Person, id: string): Promise<string | undefined> {
  const { body } = route.schema
  for (const field of textFields(body)) {
    const name = field.findLast((part) => part !== '0') ?? ''
    if (!isReference(name) || body === undefined) continue
    const [path] = world.pathsOf(bob, route)
    const send = async (value: string): Promise<Exchange | undefined> => {
      const own = withText(body, field, value)
      return own === undefined || path === undefined ? undefined : world.send(bob, route, { path, body: own })
    }
    const theirs = await send(id)
    if (theirs === undefined || !isSuccess(theirs)) continue
    bob.given.add(id)
    if (theirs.text.includes(world.people.ann.mark))
      return `${route.name} with an id of another user in "${name}" sends a text of theirs`
    const unknown = await send(nobodys(id))
    if (unknown && !isSuccess(unknown))
      return `Another user gets ${theirs.status} for ${route.name} with an id of another user in "${name}", and ${unknown.status} for an unknown one`
  }
  return undefined
}
