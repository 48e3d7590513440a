import type { SeenStep } from '../watch/seen.ts'
import type { Exchange } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

const TABLE = /\b(?:from|into|update)\s+"?(\w+)"?/i
const tableOf = ({ text }: SeenStep) => TABLE.exec(text)?.[1]?.toLowerCase()
const isRead = ({ text }: SeenStep) => /^(select|with)\b/i.test(text)

export const lostUpdates: Rule<World> = {
  code: 'lost-update',
  finds:
    'a write by what was read before its transaction: another request changes the row in between (on PostgreSQL, or with two hosts)',
  remedy: `Read in the transaction: yield* one(sql\`SELECT … \${forUpdate}\`), or let the statement compute: SET count = count + 1.`,
  find({ exchanges }) {
    const found = new Map<Route, Found>()
    for (const exchange of exchanges) {
      const { route, method } = { ...exchange, method: exchange.route.method }
      if (method === 'GET' || found.has(route)) continue
      const why = staleWrite(exchange)
      if (why !== undefined) found.set(route, { where: route.where, why })
    }
    return [...found.values()]
  },
}

function staleWrite({ steps, url, body }: Exchange): string | undefined {
  const sent = `${url} ${typeof body === 'string' ? body : JSON.stringify(body ?? '')}`
  for (const [index, read] of steps.entries()) {
    const table = tableOf(read)
    if (!read.alone || !isRead(read) || table === undefined) continue
    const later = steps.slice(index + 1).filter((step) => !step.alone)
    if (later.some((step) => isRead(step) && tableOf(step) === table)) continue
    const counts = /^select\s+count\s*\(/i.test(read.text)
    const write = later.find((step) => {
      if (tableOf(step) !== table) return false
      if (/^insert\b/i.test(step.text)) return counts
      return /^update\b/i.test(step.text) && derives(step, read, sent)
    })
    if (write) return `it reads "${table}" before its transaction, and then runs ${write.text.slice(0, 120)}`
  }
  return undefined
}

/** Whether it sets a column to a number that comes from the one which was read. */
function derives({ query }: SeenStep, { result }: SeenStep, sent: string): boolean {
  const [row] = [result].flat() as (Record<string, unknown> | undefined)[]
  return (query?.strings ?? []).some((text, index) => {
    const [, column = ''] = /\b(?:set|,)\s*"?(\w+)"?\s*=\s*$/i.exec(text) ?? []
    const [before, value] = [row?.[column], query?.values[index]].map((one) =>
      typeof one === 'bigint' ? Number(one) : one,
    )
    if (/\bwhere\b/i.test(text) || typeof before !== 'number' || typeof value !== 'number') return false
    return value !== before && Math.abs(value - before) < 1e9 && !new RegExp(`\\b${value}\\b`).test(sent)
  })
}
