import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Asked, ask, type Reply } from '../../harness/ask.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'

type Headers = Readonly<Record<string, string>>
type Request = Omit<Asked, 'url'> & { readonly path: string }

/** Clients of the guest, and what each of them adds. */
const CLIENTS = 16
const ADDITIONS = 6
const products = ['tea', 'coffee', 'milk', 'sugar', 'water']
const PATIENCE = 60_000

/**
 * Two users claim one guest at once, or one does twice, while the guest's clients add to its cart, and a host is killed
 * during all of it. Each addition has a key, and is sent until it has a response: by the guest, and from the claim on by the
 * user, whose keys these are then. So each must be in the user's cart, once.
 *
 * @returns what is wrong; undefined where all is well
 */
export async function stressClaim(hosts: HostGroup, seed: number): Promise<string | undefined> {
  const agent = new Agent({ keepAlive: true })
  try {
    return await new Fire(hosts, agent, seed).run()
  } finally {
    agent.destroy()
  }
}

class Fire {
  readonly #hosts: HostGroup
  readonly #agent: Agent
  readonly #random: Random
  readonly #seed: number
  /** By product. */
  readonly #added = new Map<string, number>()

  constructor(hosts: HostGroup, agent: Agent, seed: number) {
    this.#hosts = hosts
    this.#agent = agent
    this.#random = new Random(seed)
    this.#seed = seed
  }

  async run(): Promise<string | undefined> {
    const [one, other] = await Promise.all([this.#user('one'), this.#user('other')])
    const { body } = await this.#ask({ method: 'POST', path: '/guest', headers: {} })
    const guest = { 'guest-token': JSON.parse(body).token }
    for (const user of [one, other]) await this.#ask(addition(user, 'own', 7))
    await this.#ask(addition(one, 'both', 3))
    await this.#ask(addition(guest, 'both', 5))

    const claimants: readonly [Headers, Headers] = this.#random.chance(0.5) ? [one, other] : [one, one]
    const fire = Promise.withResolvers<void>()
    let untilClaim = this.#random.between(1, (CLIENTS * ADDITIONS) / 2)
    const claims = fire.promise.then(() => this.#claimDuringKill(guest, claimants))
    const winner = claims.then(({ winner }) => winner)
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let number = 0; number < ADDITIONS; number++) {
        await this.#add(guest, winner, `${client}-${number}`)
        if (--untilClaim === 0) fire.resolve()
      }
    })
    const [{ failure, kill }] = await Promise.all([claims, ...clients])
    await kill
    if (failure !== undefined) return failure
    return this.#compare(one, other, await winner)
  }

  async #user(name: string): Promise<Headers> {
    return { authorization: `Bearer ${await this.#hosts.mintToken(`${name}-${this.#seed}`)}` }
  }

  async #claimDuringKill(guest: Headers, claimants: readonly [Headers, Headers]) {
    const claiming = claimants.map((user) =>
      this.#ask({ method: 'POST', path: '/guest/claim', headers: { ...user, ...guest } }),
    )
    await pause(this.#random.next() * 8)
    const kill = this.#hosts.any(this.#random).killAndStart()
    const statuses = (await Promise.all(claiming)).map(({ status }) => status)
    const winner = claimants[statuses.indexOf(200)] ?? claimants[0]
    const expected = claimants.map((user) => (user === winner ? 200 : 404))
    const isRight = statuses.join() === expected.join()
    return {
      winner,
      kill,
      failure: isRight ? undefined : `two claims had a response ${statuses.join(' and ')}`,
    }
  }

  /** Until it has a response: the guest's, or from the claim on the user's. */
  async #add(guest: Headers, winner: Promise<Headers>, key: string): Promise<void> {
    const product = products[this.#random.between(0, products.length - 1)] as string
    const quantity = this.#random.between(1, 3)
    this.#added.set(product, (this.#added.get(product) ?? 0) + quantity)
    const first = await this.#ask(addition(guest, product, quantity, key))
    if (first.status === 401) await this.#ask(addition(await winner, product, quantity, key))
  }

  async #compare(one: Headers, other: Headers, winner: Headers): Promise<string | undefined> {
    const own = [['own', 7]] as const
    const expected = new Map<Headers, readonly (readonly [string, number])[]>([
      [one, [...own, ['both', 3]]],
      [other, own],
    ])
    expected.set(winner, [...own, ['both', 5], ...this.#added])
    for (const [user, wanted] of expected) {
      const { body } = await this.#ask({ method: 'GET', path: '/cart', headers: user })
      const lines: string[] = JSON.parse(body).items.map(
        ({ product, quantity }: { product: string; quantity: number }) => `${quantity} ${product}`,
      )
      const have = lines.sort().join(', ')
      const want = wanted
        .map(([product, quantity]) => `${quantity} ${product}`)
        .sort()
        .join(', ')
      if (have !== want)
        return `after a claim the cart of who ${user === winner ? 'won' : 'lost'} has ${have} instead of ${want}`
    }
    return undefined
  }

  /** Sends it until it has a response, on either side. */
  async #ask({ path, ...request }: Request): Promise<Reply> {
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(20)) {
      const url = this.#hosts.any(this.#random).url + path
      const responded = await ask(this.#agent, { ...request, url }).catch(() => undefined)
      if (responded === undefined || responded.status >= 500) continue
      if (responded.status === 409 && JSON.parse(responded.body).code === 'idempotency-running') continue
      return responded
    }
    throw new Error(`${request.method} ${path} had no response within ${PATIENCE / 1000} s`)
  }
}

/** With a key, since it is sent until it has a response. */
function addition(caller: Headers, product: string, quantity: number, key = product): Request {
  const body = JSON.stringify({ product, quantity })
  return { method: 'POST', path: '/cart/item', headers: { ...caller, 'idempotency-key': key }, body }
}
