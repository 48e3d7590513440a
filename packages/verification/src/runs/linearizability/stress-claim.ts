import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Reply } from '../../harness/caller.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'

/** Clients of the guest, and what each of them adds. */
const CLIENTS = 16
const ADDITIONS = 6
const products = ['tea', 'coffee', 'milk', 'sugar', 'water']

/**
 * Two users claim one guest at once, or one does twice, while the guest's clients add to its cart, and a host is killed
 * during all of it. Each addition has a key, and is sent until it has a response: by the guest, and from the claim on by the
 * user, whose keys these are then. So each must be in the user's cart, once.
 *
 * @returns what is wrong; undefined where all is well
 */
export async function stressClaim(hosts: HostGroup, seed: number): Promise<string | undefined> {
  const random = new Random(seed)
  const [one, other] = [await hosts.user(`one-${seed}`, random), await hosts.user(`other-${seed}`, random)]
  const { token } = (await hosts.caller({}, random).insist({ method: 'POST', path: '/guest' })).json
  const headers = { 'guest-token': token }
  const guest = hosts.caller(headers, random)
  for (const user of [one, other]) await add(user, 'own', 7)
  await add(one, 'both', 3)
  await add(guest, 'both', 5)

  const claimants: readonly [Caller, Caller] = random.chance(0.5) ? [one, other] : [one, one]
  /** The users that claim, once some additions are made: the first of those that get the guest. */
  const claimDuringKill = async () => {
    const claiming = claimants.map((user) => user.insist({ method: 'POST', path: '/guest/claim', headers }))
    await pause(random.next() * 8)
    const kill = hosts.any(random).killAndStart()
    const statuses = (await Promise.all(claiming)).map(({ status }) => status)
    return { statuses, kill, winner: claimants[statuses.indexOf(200)] ?? claimants[0] }
  }
  const fire = Promise.withResolvers<void>()
  let untilClaim = random.between(1, (CLIENTS * ADDITIONS) / 2)
  const claims = fire.promise.then(claimDuringKill)
  const added = new Map<string, number>()
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let number = 0; number < ADDITIONS; number++) {
      const product = random.oneOf(products)
      const quantity = random.between(1, 3)
      added.set(product, (added.get(product) ?? 0) + quantity)
      const key = `${client}-${number}`
      const { status } = await add(guest, product, quantity, key)
      if (status === 401) await add((await claims).winner, product, quantity, key)
      if (--untilClaim === 0) fire.resolve()
    }
  })
  const [{ statuses, kill, winner }] = await Promise.all([claims, ...clients])
  await kill
  const expected = claimants.map((user) => (user === winner ? 200 : 404))
  if (statuses.join() !== expected.join()) return `two claims had a response ${statuses.join(' and ')}`

  const carts = new Map<Caller, readonly (readonly [string, number])[]>([
    [one, [['both', 3]]],
    [other, []],
  ])
  carts.set(winner, [['both', 5], ...added])
  for (const [user, wanted] of carts) {
    const { items } = (await user.insist({ method: 'GET', path: '/cart' })).json
    const have = items.map(({ product, quantity }: { product: string; quantity: number }) => [
      product,
      quantity,
    ])
    const [is, should] = [have, [['own', 7], ...wanted]].map((lines) => lines.map(String).sort().join(' '))
    if (is !== should)
      return `after a claim the cart of who ${user === winner ? 'won' : 'lost'} has ${is} instead of ${should}`
  }
  return undefined
}

/** With a key, since it is sent until it has a response. */
const add = (caller: Caller, product: string, quantity: number, key = product): Promise<Reply> =>
  caller.insist({
    ...{ method: 'POST', path: '/cart/item', body: { product, quantity } },
    headers: { 'idempotency-key': key },
  })
