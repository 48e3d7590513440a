import { Agent } from 'node:http'
import { ask } from '../../harness/ask.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import { CartCaller } from './cart-caller.ts'
import { CartClient, type CartClientOptions } from './cart-client.ts'
import { type CartInput, type CartOutput, type CartState, cartModel } from './cart-model.ts'
import { checkHistory } from './check-history.ts'
import { History } from './history.ts'

export interface RoundOptions {
  readonly hosts: HostGroup
  readonly seed: number
  /** Whether a host is killed in the middle. */
  readonly kills: boolean
}

export interface RoundReport {
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

/** 16 clients at once on fresh carts, and the verdict on their history. */
export async function runRound(options: RoundOptions): Promise<RoundReport> {
  const round = new Round(options)
  try {
    return await round.run()
  } finally {
    round.stop()
  }
}

class Round {
  readonly #options: RoundOptions
  readonly #random: Random
  readonly #agent = new Agent({ keepAlive: true })
  readonly #history = new History<CartInput, CartOutput>()
  readonly #tokens = new Map<string, string>()
  /** The two guests there are. */
  readonly #guests: CartCaller[] = []
  readonly #becoming = new Map<CartCaller, Promise<void>>()
  readonly #failures: string[] = []
  #untilKill = Number.POSITIVE_INFINITY
  #killing: Promise<void> | undefined

  constructor(options: RoundOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
  }

  async run(): Promise<RoundReport> {
    const { kills } = this.#options
    for (const slot of [0, 1]) this.#guests[slot] = await this.#becomeGuest()
    const [owner, rival] = await Promise.all(['owner', 'rival'].map((name) => this.#user(name)))
    const clients = Array.from({ length: CLIENTS }, (_, index) => {
      if (index < OWNERS) return this.#client(() => owner as CartCaller, true)
      if (index === OWNERS) return this.#client(() => rival as CartCaller, true)
      return this.#client(() => this.#guests[index % 2] as CartCaller, false)
    })
    if (kills) this.#untilKill = this.#random.between(30, CLIENTS * OPERATIONS - 60)
    await Promise.all(clients.map((client) => client.run(OPERATIONS)))
    await this.#killing
    const last = this.#client(() => owner as CartCaller, false)
    for (const caller of [owner, rival, ...this.#guests]) await last.look(caller as CartCaller)
    return this.#report()
  }

  stop(): void {
    this.#agent.destroy()
  }

  #report(): RoundReport {
    const { operations } = this.#history
    return {
      operations: operations.length,
      noResponse: operations.filter(({ output }) => output === undefined).length,
      claims: operations.filter(({ input, output }) => input.kind === 'claim' && output?.status === 200)
        .length,
      failure: this.#failures[0] ?? explain(this.#history),
    }
  }

  #client(caller: CartClientOptions['caller'], claims: boolean): CartClient {
    const { hosts } = this.#options
    const random = new Random(this.#random.between(0, 2 ** 31))
    return new CartClient({
      random,
      agent: this.#agent,
      target: () => hosts.any(random).url,
      history: this.#history,
      caller,
      guests: () => (claims ? this.#guests : []),
      tokenOf: (guest) => this.#tokens.get(guest) as string,
      onRetired: (retired) => this.#replace(retired),
      onResult: () => {
        if (--this.#untilKill === 0) this.#killing = hosts.any(this.#random).killAndStart()
      },
      onFailure: (text) => this.#failures.push(text),
    })
  }

  async #user(name: string): Promise<CartCaller> {
    const token = await this.#options.hosts.mintToken(`${name}-${this.#options.seed}`)
    return new CartCaller(name, { authorization: `Bearer ${token}` })
  }

  async #becomeGuest(): Promise<CartCaller> {
    const { hosts } = this.#options
    for (;;) {
      const asked = { url: `${hosts.any(this.#random).url}/guest`, method: 'POST', headers: {} } as const
      // Of a host that is killed meanwhile.
      const responded = await ask(this.#agent, asked).catch(() => undefined)
      if (responded?.status !== 201) continue
      const { token } = JSON.parse(responded.body)
      const name = `guest ${this.#tokens.size + 1}`
      this.#tokens.set(name, token)
      return new CartCaller(name, { 'guest-token': token })
    }
  }

  /** The first client that hears of it becomes the next guest, for all. */
  async #replace(retired: CartCaller): Promise<void> {
    const slot = this.#guests.indexOf(retired)
    if (slot === -1) return
    const becoming =
      this.#becoming.get(retired) ??
      this.#becomeGuest().then((guest) => {
        this.#guests[slot] = guest
      })
    this.#becoming.set(retired, becoming)
    await becoming
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
