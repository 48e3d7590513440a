import type { TSchema } from '@sinclair/typebox'
import { isSuccess } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import { isValid } from '../world/generate.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

/** How many values of a list are sent: the first of these that the schema accepts. */
const MANY = [200, 100, 50, 25]
const SEPARATORS = [',', ' ', ';', '|']
/** Values of a list: equal, or each another one. */
const forms = [
  (text: string) => text,
  (text: string, index: number) => `${text}${index}`,
  (text: string, index: number) => `a${index}${text}`,
]

export const unboundedConditions: Rule<World> = {
  code: 'unbounded-conditions',
  finds: 'a GET with a condition for each of many values: one request costs conditions times rows',
  remedy:
    'Take each value once, and some at most: in the schema with a pattern such as ^x(,x){0,9}$, and after it new Set(values). Values of one column are one condition: WHERE column IN (…).',
  async find(world) {
    const { carol, admin, guest } = world.people
    const lists = [carol, admin, guest].flatMap((reader) =>
      world.lists(reader).map((list) => ({ reader, ...list })),
    )
    const found = new Map<Route, Found>()
    for (const { reader, route, path } of lists) {
      for (const { name, one, values, count } of queriesOf(route)) {
        if (found.has(route)) break
        const send = (value: string) =>
          world.send(reader, route, { path, query: new URLSearchParams({ [name]: value }).toString() })
        const [few, many] = [await send(one), await send(values)]
        const more = most(many.steps) - most(few.steps)
        if (!isSuccess(many) || more < count * 0.8) continue
        const why = `GET ${route.path} has a statement with ${more} more conditions for ${count} values of "${name}" than for one`
        found.set(route, { where: route.where, why })
      }
    }
    return [...found.values()]
  },
}

/** Each text of the query as one value, and as a list of many. */
function* queriesOf({ schema: { querystring } }: Route) {
  for (const [name, property] of Object.entries<TSchema>(querystring?.properties ?? {})) {
    const one: unknown = property.examples?.[0] ?? 'a'
    if (property.type !== 'string' || typeof one !== 'string' || !isValid(property, one)) continue
    for (const form of forms) {
      for (const separator of SEPARATORS) {
        const listOf = (count: number) =>
          Array.from({ length: count }, (_, at) => form(one, at)).join(separator)
        const count = MANY.find((count) => isValid(property, listOf(count)))
        if (count !== undefined) yield { name, one, values: listOf(count), count }
      }
    }
  }
}

/** The conditions of the statement with the most. */
const most = (steps: Awaited<ReturnType<World['send']>>['steps']) =>
  Math.max(0, ...steps.map(({ query }) => conditionsOf(query?.strings ?? [])))

/** Values that are no further ones of a list. */
const conditionsOf = (strings: readonly string[]) =>
  strings.slice(0, -1).filter((before) => !/^\s*,\s*$/.test(before)).length
