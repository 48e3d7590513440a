import type { Exchange } from '../world/exchange.ts'

/** Headers of each response alone. */
const OWN = /^(date|request-id|content-length|guest-token|set-cookie|traceparent|server-timing|ratelimit.*)$/
/** A difference that a caller can measure from afar, in milliseconds. */
const NOTICEABLE = 25

/** What distinguishes two refusals, whose paths end in different ids. */
export function differenceOf(one: Exchange, other: Exchange): string | undefined {
  const [first, second] = [one, other].map(shown) as [Shown, Shown]
  const names = new Set([...Object.keys(first.headers), ...Object.keys(second.headers)])
  const header = [...names].find((name) => first.headers[name] !== second.headers[name])
  if (header !== undefined) return `the header "${header}"`
  const part = [...new Set([...Object.keys(first.body), ...Object.keys(second.body)])].find(
    (name) => JSON.stringify(first.body[name]) !== JSON.stringify(second.body[name]),
  )
  return part === undefined ? undefined : `"${part}" (${JSON.stringify(first.body[part])})`
}

type Shown = { readonly headers: Record<string, unknown>; readonly body: Record<string, unknown> }

function shown({ headers, json, url }: Exchange): Shown {
  const ids = url.split(/[/?]/).filter((part) => part.length >= 8)
  const plain = (text: string) =>
    ids.reduce((all, id) => all.replaceAll(id, '').replaceAll(decodeURIComponent(id), ''), text)
  const kept = Object.entries(headers).filter(([name]) => !OWN.test(name))
  const { requestId, instance, ...body } = JSON.parse(plain(JSON.stringify(json ?? {}))) ?? {}
  return { headers: JSON.parse(plain(JSON.stringify(Object.fromEntries(kept)))), body }
}

/** How much longer one takes than the other, each at its best: a loaded machine makes both slow. */
export async function takesLonger(
  one: () => Promise<Exchange>,
  other: () => Promise<Exchange>,
  before: number,
): Promise<string | undefined> {
  if (before < NOTICEABLE) return undefined
  let [slow, fast] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < 5; round += 1) {
    slow = Math.min(slow, (await one()).took)
    fast = Math.min(fast, (await other()).took)
  }
  return slow - fast > NOTICEABLE && slow > fast * 4 ? `${Math.round(slow - fast)} ms longer` : undefined
}
