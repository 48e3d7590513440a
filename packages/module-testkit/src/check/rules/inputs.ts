import { seen } from '../watch/seen.ts'
import type { Exchange } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import { parametersOf } from '../world/ids.ts'
import { textFields, withText } from '../world/text-fields.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

// Texts that are known again where they must not arrive.

/** A column that no table has; a name for `identifier` too. */
const COLUMN = 'zq_column'
const WILD = 'zq%l_k'
/** It ends in the root only if nobody looks at it. */
const FILE = `${'../'.repeat(24)}zq-file`
/** Nobody outside of this machine may reach it. */
const ADDRESS = '127.0.0.1:47813'
const TEXTS = [COLUMN, WILD, FILE, `http://${ADDRESS}/zq`, ADDRESS]

const sent = new WeakMap<World, Promise<Exchange[]>>()

/** Sends each text in each place that takes it. */
function sendTexts(world: World): Promise<Exchange[]> {
  const known = sent.get(world) ?? sendAll(world)
  sent.set(world, known)
  return known
}

async function sendAll(world: World): Promise<Exchange[]> {
  const before = world.exchanges.length
  for (const route of world.routes) {
    const caller = world.allowed(route)
    const [path = route.path.replace(/:\w+/g, 'unknown')] = world.pathsOf(caller, route)
    const { body, querystring } = route.schema
    for (const text of TEXTS) {
      for (const field of textFields(body)) {
        const value = body && withText(body, field, text)
        if (value !== undefined) await world.send(caller, route, { path, body: value })
      }
      const [sample] = body ? world.requests(caller, route, 1) : []
      const own = sample?.body === undefined ? {} : { body: sample.body }
      for (const field of textFields(querystring)) {
        const value = querystring && withText(querystring, field, text)
        if (value !== undefined) await world.send(caller, route, { path, query: queryOf(value), ...own })
      }
      if (parametersOf(route).length === 0) continue
      const hostile = path.slice(0, path.lastIndexOf('/') + 1) + encodeURIComponent(text)
      await world.send(caller, route, { path: hostile, ...own })
    }
  }
  await world.settled()
  return world.exchanges.slice(before)
}

const queryOf = (values: unknown) =>
  new URLSearchParams(
    Object.entries(values as object).map(([name, one]) => [name, String(one)] as [string, string]),
  ).toString()

/** A rule for each statement of these requests: why it is broken, or undefined. */
const forStatements =
  (
    broken: (strings: readonly string[], values: readonly unknown[]) => string | undefined,
  ): Rule<World>['find'] =>
  async (world) => {
    const found = new Map<Route, Found>()
    for (const { route, steps } of await sendTexts(world)) {
      for (const { query } of steps) {
        if (!query || found.has(route)) continue
        const why = broken(query.strings, query.values)
        if (why !== undefined) found.set(route, { where: route.where, why })
      }
    }
    return [...found.values()]
  }

const sqlFromInput: Rule<World> = {
  code: 'sql-injection',
  finds: 'SQL that is put together from what the caller sends (SQL injection)',
  remedy: `Bind values with the tag: sql\`… WHERE id = \${id}\`; choose a column from a fixed list, and let the schema allow only its names (Type.Union of literals).`,
  find: forStatements((strings) => {
    const text = strings.join('?').replace(/\s+/g, ' ')
    const at = TEXTS.map((one) => text.indexOf(one)).find((index) => index >= 0)
    if (at === undefined) return undefined
    const clause = /\border by\b[^?]*$/i.test(text.slice(0, at)) ? 'in ORDER BY ' : ''
    return `the text of the statement has what the caller sent ${clause}(SQL injection): ${text.slice(Math.max(0, at - 60), at + 30).trim()}`
  }),
}

const unescapedLike: Rule<World> = {
  code: 'like-unescaped',
  finds:
    'LIKE with what the caller sends as its pattern: % and _ match everything, and the index is of no use',
  remedy: `Escape it: LIKE \${\`%\${text.replace(/[\\\\%_]/g, '\\\\$&')}%\`} ESCAPE '\\'.`,
  find: forStatements((strings, values) => {
    const at = values.findIndex(
      (value, index) =>
        typeof value === 'string' &&
        value.toLowerCase().includes(WILD) &&
        /\b(i?like|glob)\b[^?=<>]*$/i.test(strings[index] ?? ''),
    )
    if (at < 0) return undefined
    return `the pattern of LIKE is ${JSON.stringify(values[at])} where the caller sends ${JSON.stringify(WILD)}`
  }),
}

/** A rule for what the code did with one of the texts. */
const forSeen =
  (what: 'file' | 'network', broken: (name: string) => string | undefined): Rule<World>['find'] =>
  async (world) => {
    await sendTexts(world)
    return seen.flatMap((one): Found[] => {
      const why = one.what === what ? broken(one.name) : undefined
      const where = why && world.module.place(one.stack)
      return why && where ? [{ where, why }] : []
    })
  }

const pathFromInput: Rule<World> = {
  code: 'path-traversal',
  finds: 'a file whose path comes from the caller: `../` leads out of its folder (path traversal)',
  remedy: 'Keep the files under ids of your own, or take basename(name) and check that it is in the folder.',
  find: forSeen('file', (name) =>
    name.startsWith('/') ? `it opens ${name}, where the caller sends ../../…/zq-file` : undefined,
  ),
}

const addressFromInput: Rule<World> = {
  code: 'address-from-input',
  finds: 'a request to an address that the caller sends: it reaches what only the host can reach (SSRF)',
  remedy:
    'Let a setting name the host; or resolve the address, refuse private ones, and connect to the resolved one.',
  find: forSeen('network', (name) =>
    name.includes(ADDRESS) ? `it connects to ${name}, which the caller has sent (SSRF)` : undefined,
  ),
}

export const inputRules = [sqlFromInput, unescapedLike, pathFromInput, addressFromInput]
