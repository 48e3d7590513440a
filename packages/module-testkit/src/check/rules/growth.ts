import type { Transaction } from '@mortise/module-sdk'
import { type Exchange, isSuccess, wrote } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'
import { emitSamples } from './handlers.ts'

/** More rows than any list should send at once. */
const MANY = 260
/** Refusals in a row after which a module takes no more: it has a limit. */
const REFUSALS = 5
/** How many requests are sent together. */
const TOGETHER = 20

/** A GET with few rows and with many. */
interface Grown {
  readonly route: Route
  readonly few: Exchange
  readonly many: Exchange
}

/** The public routes that add rows without end, with the tables. */
const endless = new WeakMap<World, Map<Route, string>>()
const measured = new WeakMap<World, Promise<Grown[]>>()

function growth(world: World): Promise<Grown[]> {
  const known = measured.get(world) ?? grow(world)
  measured.set(world, known)
  return known
}

async function grow(world: World): Promise<Grown[]> {
  const { carol, admin, guest } = world.people
  const readers = [carol, admin, guest]
  await world.fill(carol, 2)
  const lists = readers.flatMap((reader) => world.lists(reader).map((list) => ({ reader, ...list })))
  const read = async () => {
    const sent: Exchange[] = []
    await world.settled()
    for (const { reader, route, path } of lists) sent.push(await world.send(reader, route, { path }))
    return sent
  }
  const before = await read()
  await emitSamples(world, MANY)
  const growing = new Map<Route, string>()
  endless.set(world, growing)
  for (const route of world.creating) {
    const sizes = route.access === 'public' ? await world.tables.sizes() : undefined
    await addMany(world, route)
    if (sizes === undefined) continue
    await world.settled()
    for (const [table, size] of await world.tables.sizes()) {
      if (size - (sizes.get(table) ?? 0) >= MANY * 0.9) growing.set(route, table)
    }
  }
  const after = await read()
  return before.flatMap((few, index) => {
    const many = after[index]
    return many && isSuccess(few) && isSuccess(many) ? [{ route: few.route, few, many }] : []
  })
}

async function addMany(world: World, route: Route): Promise<void> {
  const { carol } = world.people
  const caller = world.may(carol, route) ? carol : world.allowed(route)
  const requests = [...world.requests(caller, route, MANY, 11)]
  const isNamed = route.method === 'PUT' && route.access === 'public'
  const [path] = requests.map((request) => request.path)
  // One parent for all: its list is the one that grows.
  const sameParent = requests.map((request, index) => {
    if (isNamed) return { ...request, path: `${path?.replace(/[^/]*$/, '')}zq-${index}` }
    return route.method === 'PUT' || path === undefined ? request : { ...request, path }
  })
  for (let at = 0; at < sameParent.length; at += TOGETHER) {
    const sent = await Promise.all(
      sameParent.slice(at, at + TOGETHER).map((request) => world.send(caller, route, request)),
    )
    if (!sent.some(wrote)) return
    if (sent.filter((exchange) => !isSuccess(exchange)).length >= Math.min(REFUSALS, sent.length)) return
  }
}

/** The length of the longest array in it. */
function longest(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? value.length : 0
  return Math.max(own, ...Object.values(value).slice(0, 50).map(longest))
}

/** A rule for each GET: why it is broken, or undefined. */
const forGrown =
  (broken: (grown: Grown) => string | undefined): Rule<World>['find'] =>
  async (world) =>
    (await growth(world)).flatMap((grown): Found[] => {
      const why = broken(grown)
      return why === undefined ? [] : [{ where: grown.route.where, why }]
    })

const growingStatements: Rule<World> = {
  code: 'n-plus-one',
  finds: 'a GET with a statement for each row',
  remedy: 'Read them in one statement: a JOIN, or WHERE id IN (…) with join() of the SDK.',
  find: forGrown(({ few, many }) => {
    const more = many.steps.length - few.steps.length
    const rows = longest(many.json) - longest(few.json)
    if (more < 5 || (rows > 0 && more < rows / 2)) return undefined
    return `GET ${many.url} runs ${few.steps.length} statements with few rows, and ${many.steps.length} with more`
  }),
}

export const unboundedLists: Rule<World> = {
  code: 'unbounded-list',
  finds: 'a list that sends all rows, however many there are',
  remedy: 'Use PagedList, or a LIMIT, or let nobody have more than some hundred.',
  find: forGrown(({ few, many }) => {
    const length = longest(many.json)
    if (length < MANY * 0.9 || longest(few.json) * 10 > length) return undefined
    return `GET ${many.url} sends ${length} rows at once`
  }),
}

const publicGrowth: Rule<World> = {
  code: 'unbounded-growth',
  finds: 'a public route that adds a row for each request, which nothing deletes: anybody fills the disk',
  remedy:
    'Let a caller add (access "caller") up to a limit, limit each address by addressKey(request.ip), or delete old rows in everyMinute.',
  async find(world) {
    await growth(world)
    const swept = await sweptTables(world)
    return [...(endless.get(world) ?? [])].flatMap(([route, table]): Found[] =>
      swept.has(table)
        ? []
        : [
            {
              where: route.where,
              why: `${MANY} requests of nobody in particular add ${MANY} rows to "${table}"`,
            },
          ],
    )
  },
}

/** The tables that its regular work looks at. */
async function sweptTables({ module, storage, tables }: World): Promise<Set<string>> {
  const texts: string[] = []
  for (const { work } of module.minutes.values()) {
    await storage
      .transaction(function* (): Transaction<void> {
        const steps = work()
        for (let next = steps.next(); !next.done; ) {
          if ('query' in next.value) texts.push(next.value.query.strings.join(' '))
          next = steps.next(yield next.value)
        }
      })
      .catch(() => {})
  }
  const names = await tables.names()
  return new Set(names.filter((name) => texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))))
}

export const growthRules = [growingStatements, unboundedLists, publicGrowth]
