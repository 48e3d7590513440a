import { Sql } from '@mortise/module-sdk/sql'
import type { SeenStep } from '../watch/seen.ts'
import type { Exchange } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'

/** A table that has grown in the check grows in use. */
export const GROWN = 240
const END = /\s+limit\s+(\?|\d+)(\s+offset\s+(\?|\d+))?\s*$/i

/** A rule for the plan of each statement of a request. */
const forPlans =
  (
    broken: (
      world: World,
      query: Sql,
      plan: readonly string[],
      grown: readonly string[],
    ) => Promise<string | undefined>,
  ): Rule<World>['find'] =>
  async (world) => {
    const grown = await grownTables(world)
    const found = new Map<string, Found>()
    for (const { route, query } of statements(world)) {
      if (found.has(route.where)) continue
      const why = await broken(world, query, await planOf(world, query), grown)
      if (why !== undefined) found.set(route.where, { where: route.where, why })
    }
    return [...found.values()]
  }

const grownTables = async (world: World) =>
  [...(await world.tables.sizes())].filter(([, size]) => size >= GROWN).map(([table]) => table)

/** The reads outside of transactions that are not declared as long. */
export const readsOf = (world: World) =>
  statements(world).filter(
    ({ step: { alone, long, text } }) => alone && !long && /^(select|with)\b/i.test(text),
  )

interface Sent {
  readonly route: Exchange['route']
  readonly query: Sql
  readonly step: SeenStep
}

/** Each statement once for each route, as it was sent last. */
function statements({ exchanges }: World): Sent[] {
  const all = new Map<string, Sent>()
  // Carol has the most rows.
  for (const { route, steps } of [
    ...exchanges.filter(isOther),
    ...exchanges.filter((one) => !isOther(one)),
  ]) {
    for (const step of steps) {
      const { query, text } = step
      if (query && /^(select|with|update|delete)\b/i.test(text) && !/\bmortise_/.test(text))
        all.set(`${route.name} ${text}`, { route, query, step })
    }
  }
  return [...all.values()]
}

const isOther = ({ caller }: Exchange) => caller.name !== 'carol'

async function planOf({ storage }: World, { strings, values }: Sql): Promise<string[]> {
  const [first = '', ...rest] = strings
  try {
    const query = new Sql([`EXPLAIN QUERY PLAN ${first.trimStart()}`, ...rest], values)
    const rows = await storage.many<{ detail: string }>(query)
    return rows.map(({ detail }) => detail)
  } catch {
    return []
  }
}

const fullScans: Rule<World> = {
  code: 'full-scan',
  finds: 'a statement that reads a whole table for one request: it slows down with each row of anybody',
  remedy:
    'Add an index that begins with the columns of the WHERE, then those of ORDER BY: CREATE INDEX … ON note (owner, created_at, id).',
  find: forPlans(async (_world, query, plan, grown) => {
    const text = query.strings.join('?').replace(/\s+/g, ' ').trim()
    const stopsEarly =
      END.test(text) && !/\b(where|group by)\b/i.test(text) && !plan.some((one) => /TEMP B-TREE/.test(one))
    if (stopsEarly) return undefined
    for (const line of plan) {
      const [, name = ''] = /^SCAN (\w+)(?! USING|.*VIRTUAL)/.exec(line) ?? []
      const [, table = name] = new RegExp(`\\b(\\w+) (?:AS )?${name}\\b`, 'i').exec(text) ?? []
      const scanned = [name, table].find((one) => grown.includes(one))
      if (name !== '' && scanned) return `it reads all rows of "${scanned}": ${text.slice(0, 120)}`
    }
    return undefined
  }),
}

const sorts: Rule<World> = {
  code: 'sort-without-index',
  finds: 'a page for which all rows are sorted, since no index has their order',
  remedy:
    'Add an index with the columns of the WHERE, then those of ORDER BY: CREATE INDEX … ON note (owner, created_at, id).',
  find: forPlans(async ({ storage }, query, plan, grown) => {
    if (grown.length === 0 || !plan.some((line) => /TEMP B-TREE FOR ORDER BY/.test(line))) return undefined
    const strings = query.strings.join('\0')
    const [limit] = END.exec(strings.replaceAll('\0', '?')) ?? []
    if (limit === undefined) return undefined
    const whole = strings.slice(0, strings.length - limit.length).split('\0')
    const rows = await storage.many(new Sql(whole, query.values.slice(0, whole.length - 1))).catch(() => [])
    if (rows.length < GROWN) return undefined
    return `it sorts ${rows.length} rows for one page: ${query.strings.join('?').replace(/\s+/g, ' ').trim().slice(0, 160)}`
  }),
}

export const planRules = [fullScans, sorts]
