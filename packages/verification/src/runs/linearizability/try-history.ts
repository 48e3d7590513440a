import type { Headers } from '../../harness/caller.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import { CartCaller } from './cart-caller.ts'
import { CartClient, type CartClientOptions } from './cart-client.ts'
import { type CartInput, type CartOutput, type CartState, cartModel } from './cart-model.ts'
import { checkHistory } from './check-history.ts'
import { History } from './history.ts'

export interface Tried {
  readonly operations: number
  /** Of those, the ones without a response. */
  readonly noResponse: number
  readonly claims: number
  /** What went wrong; undefined where all is well. */
  readonly failure: string | undefined
}

/** Clients of one user, of whose cart it is all about. */
const OWNERS = 10
/** Clients of a guest each of them shares with half of the others, and with the next one once that is claimed. */
const GUESTS = 5
/** And one client of another user, who claims as well. */
const CLIENTS = OWNERS + GUESTS + 1
/** Of each client. */
const OPERATIONS = 16

/** 16 clients at once on fresh carts, and the verdict on their history. @param kills whether a host is killed in the middle */
export async function tryHistory(hosts: HostGroup, seed: number, kills: boolean): Promise<Tried> {
  const random = new Random(seed)
  const history = new History<CartInput, CartOutput>()
  const failures: string[] = []
  const headers = new Map<string, Headers>()
  const becoming = new Map<CartCaller, Promise<void>>()
  let untilKill = kills ? random.between(30, CLIENTS * OPERATIONS - 60) : Number.POSITIVE_INFINITY
  let killing: Promise<void> | undefined

  const becomeGuest = async (): Promise<CartCaller> => {
    const { token } = (await hosts.caller({}, random).insist({ method: 'POST', path: '/guest' })).json
    const name = `guest ${headers.size + 1}`
    const own = { 'guest-token': token }
    headers.set(name, own)
    return new CartCaller(name, hosts.caller(own, random))
  }
  const user = async (name: string) => new CartCaller(name, await hosts.user(`${name}-${seed}`, random))
  const guests = [await becomeGuest(), await becomeGuest()]

  /** The first client that hears of it becomes the next guest, for all. */
  const replace = async (retired: CartCaller): Promise<void> => {
    const slot = guests.indexOf(retired)
    if (slot === -1) return
    const next = becoming.get(retired) ?? becomeGuest().then((guest) => void guests.splice(slot, 1, guest))
    becoming.set(retired, next)
    await next
  }

  const client = (caller: CartClientOptions['caller'], claims: boolean) =>
    new CartClient({
      random: new Random(random.between(0, 2 ** 31)),
      history,
      caller,
      guests: () => (claims ? guests : []),
      headersOf: (guest) => headers.get(guest) as Headers,
      onRetired: replace,
      onResult() {
        untilKill -= 1
        if (untilKill === 0) killing = hosts.any(random).killAndStart()
      },
      onFailure: (text) => failures.push(text),
    })
  const [owner, rival] = [await user('owner'), await user('rival')]
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    if (index < OWNERS) return client(() => owner, true)
    return index === OWNERS ? client(() => rival, true) : client(() => guests[index % 2] as CartCaller, false)
  })
  await Promise.all(clients.map((each) => each.run(OPERATIONS)))
  await killing
  const last = client(() => owner, false)
  for (const caller of [owner, rival, ...guests]) await last.look(caller)
  const { operations } = history
  return {
    operations: operations.length,
    noResponse: operations.filter(({ output }) => output === undefined).length,
    claims: operations.filter(({ input, output }) => input.kind === 'claim' && output?.status === 200).length,
    failure: failures[0] ?? explain(history),
  }
}

/** What no order of the operations explains. */
function explain({ operations }: History<CartInput, CartOutput>): string | undefined {
  const { linearizable, explained, state, next } = checkHistory<CartState, CartInput, CartOutput>(
    cartModel,
    operations,
  )
  if (linearizable) return undefined
  const what = linearizable === undefined ? 'the search was given up: so far' : 'no order explains it:'
  const lines = next?.map(({ input, output, called, returned }) =>
    [called.toFixed(1), returned.toFixed(1), JSON.stringify(input), JSON.stringify(output)].join(' '),
  )
  return `${what} ${explained} of ${operations.length} operations, then with ${JSON.stringify(state)} one of\n${lines?.join('\n')}`
}
