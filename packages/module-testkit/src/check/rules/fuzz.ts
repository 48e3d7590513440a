import type { TSchema } from '@sinclair/typebox'
import type { Person } from '../world/exchange.ts'
import { hostileTexts, hostileValues, validValues } from '../world/generate.ts'
import { parametersOf } from '../world/ids.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

/** Sends what the schemas of each route allow and what they refuse; the rules judge the responses. */
export async function fuzz(world: World): Promise<void> {
  const { ann, admin, guest } = world.people
  for (const route of world.routes) {
    const senders = [world.allowed(route)]
    if (route.access === 'caller') senders.push(guest, ...(route.method === 'GET' ? [admin] : []))
    for (const sender of senders) await fuzzRoute(world, route, sender)
  }
  await world.settled()
  await world.fill(ann, 1)
}

async function fuzzRoute(world: World, route: Route, sender: Person): Promise<void> {
  const [path = route.path.replace(/:\w+/g, 'unknown')] = world.pathsOf(sender, route)
  const { body, querystring } = route.schema
  const isDelete = route.method === 'DELETE'
  for (const value of body ? [...validValues(body, 8, 3), ...hostileValues(body)] : []) {
    await world.send(sender, route, { path, body: value })
  }
  if (body) await world.send(sender, route, { path, body: '{"unfinished":' })
  if (!body && !isDelete) await world.send(sender, route, { path })
  if (querystring) {
    for (const values of [...validValues(querystring, 8, 5), ...hostileQueries(querystring)]) {
      const query = new URLSearchParams(
        Object.entries(values as object).map(([name, value]) => [name, String(value)] as [string, string]),
      )
      await world.send(sender, route, { path, query: query.toString() })
    }
  }
  if (parametersOf(route).length === 0) return
  const [sample] = body ? validValues(body, 1) : []
  for (const text of hostileTexts) {
    const hostile = route.path.replace(/:\w+/g, encodeURIComponent(text))
    await world.send(sender, route, { path: hostile, ...(sample === undefined ? {} : { body: sample }) })
  }
}

const hostileQueries = (schema: TSchema) =>
  Object.keys(schema.properties ?? {}).flatMap((name) => hostileTexts.map((text) => ({ [name]: text })))
