import { setTimeout as pause } from 'node:timers/promises'
import { isSuccess } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'

/** Each number in it, by its path. */
function* numbersIn(value: unknown, path = ''): Generator<[string, number]> {
  if (typeof value === 'number') yield [path, value]
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) yield* numbersIn(inner, path ? `${path}.${name}` : name)
}

type Numbers = ReadonlyMap<string, number>

const differing = (one: Numbers, other: Numbers) =>
  new Set([...one].filter(([path, value]) => other.get(path) !== value).map(([path]) => path))

export const foreignCounts: Rule<World> = {
  code: 'foreign-count',
  finds: "a number that other callers' rows change: a count, a sum or an average over all of them",
  remedy:
    'Name the owner in the WHERE of the count too; what everybody may know belongs on a route with access public.',
  async find(world) {
    const { bob, carol } = world.people
    const lists = world.lists(bob).filter(({ route }) => route.access === 'caller')
    const read = async () => {
      const all: Numbers[] = []
      for (const { route, path } of lists) {
        const exchange = await world.send(bob, route, { path })
        all.push(new Map(isSuccess(exchange) ? numbersIn(exchange.json) : []))
      }
      return all
    }
    /** Twice the same, since a clock may change a number too. */
    let suspects = lists.map((): Set<string> | undefined => undefined)
    for (let round = 0; round < 2; round += 1) {
      const first = await read()
      const begun = performance.now()
      await world.add(carol)
      const second = await read()
      await pause(performance.now() - begun)
      const third = await read()
      suspects = suspects.map((before, index) => {
        const [one, two, three] = [first[index], second[index], third[index]] as [Numbers, Numbers, Numbers]
        const changed = differing(one, two)
        for (const path of differing(two, three)) changed.delete(path)
        return before === undefined ? changed : new Set([...before].filter((name) => changed.has(name)))
      })
    }
    return lists.flatMap(({ route, path }, index): Found[] => {
      const [name] = suspects[index] ?? []
      if (name === undefined) return []
      return [
        { where: route.where, why: `"${name}" of GET ${path} changes when another caller adds something` },
      ]
    })
  },
}
