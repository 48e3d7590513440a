import type { TSchema } from '@sinclair/typebox'
import { type Exchange, isSuccess } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import { isValid } from '../world/generate.ts'
import { withText } from '../world/text-fields.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

const OWNER = /^(owner|creator|author|caller)(_?id)?$|^created_?by$/i
const STATE = /^(status|state|role)$/i
const VERSION = /^(version|revision)$/i
/** What a caller does not give to what is their own. */
const GRANTED = /^(paid|approved|verified|refunded|shipped|granted|accepted|confirmed|admin)$/i

const TEXT = 'zq-assigned'
const NUMBER = 947_100_003

/** A value for a property that the caller must not decide; undefined for any other. */
function privileged(world: World, name: string, schema: TSchema): unknown {
  const { type, const: only, enum: values, anyOf = [], format, pattern } = schema
  if (OWNER.test(name) && type === 'string') return world.people.ann.id ?? 'ann'
  if (VERSION.test(name) && type === 'integer') return NUMBER
  if (!STATE.test(name) || only !== undefined) return undefined
  const choices = values ?? (anyOf as TSchema[]).map((one) => one.const)
  if (choices.length > 0) return choices.find((one: unknown) => GRANTED.test(String(one)))
  return type === 'string' && format === undefined && pattern === undefined ? TEXT : undefined
}

export const massAssignment: Rule<World> = {
  code: 'mass-assignment',
  finds: 'a field of the body that decides what the caller must not: the owner, the state or the version',
  remedy:
    'Name in a Strict body what a caller may set, and take each of its fields by name; the owner is caller.id, the version the one of the row.',
  async find(world) {
    const found: Found[] = []
    for (const route of world.routes) {
      const { body } = route.schema
      if (route.access !== 'caller' || body === undefined || body.type !== 'object') continue
      const why = (await declared(world, route, body)) ?? (await undeclared(world, route, body))
      if (why !== undefined) found.push({ where: route.where, why })
    }
    return found
  },
}

async function declared(world: World, route: Route, body: TSchema): Promise<string | undefined> {
  for (const [name, schema] of Object.entries<TSchema>(body.properties ?? {})) {
    const value = privileged(world, name, schema)
    const sent = value === undefined ? undefined : withText(body, [name], value)
    if (sent !== undefined && (await stores(world, route, sent, value)))
      return `the caller sets "${name}" by the body: ${JSON.stringify(value)} is stored`
  }
  return undefined
}

/** Names of columns that the schema does not have, where it lets everything through. */
async function undeclared(world: World, route: Route, body: TSchema): Promise<string | undefined> {
  if (body.additionalProperties === false) return undefined
  const known = Object.keys(body.properties ?? {})
  const names = (await world.tables.columns()).filter((name) => name !== 'id' && !known.includes(name))
  const [sample] = world.requests(world.people.bob, route, 1)
  for (const name of new Set(names)) {
    for (const value of [OWNER.test(name) ? (world.people.ann.id ?? 'ann') : TEXT, NUMBER]) {
      const sent = { ...(sample?.body as object), [name]: value }
      if (isValid(body, sent) && (await stores(world, route, sent, value)))
        return `"${name}", which the schema of the body does not name, is stored as the caller sends it`
    }
  }
  return undefined
}

/** Whether more rows have the value after bob's request. */
async function stores(world: World, route: Route, body: unknown, value: unknown): Promise<boolean> {
  const { bob } = world.people
  const before = await world.tables.count(value)
  for (const path of world.pathsOf(bob, route).slice(0, 1)) {
    const sent: Exchange = await world.send(bob, route, { path, body })
    if (isSuccess(sent) && (await world.tables.count(value)) > before) return true
  }
  return false
}
