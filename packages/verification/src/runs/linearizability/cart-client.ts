import type { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Cut, type Reply } from '../../harness/ask.ts'
import type { Random } from '../../harness/random.ts'
import type { CartCaller } from './cart-caller.ts'
import type { CartInput, CartOutput, Seen } from './cart-model.ts'
import { outputOf, requestOf } from './cart-request.ts'
import type { History, Outcome } from './history.ts'

export interface CartClientOptions {
  readonly random: Random
  readonly agent: Agent
  /** Chooses the host of the next request. */
  readonly target: () => string
  readonly history: History<CartInput, CartOutput>
  /** Chooses the caller of the next operation. */
  readonly caller: () => CartCaller
  /** The guests that a user may claim now; none for a guest. */
  readonly guests: () => readonly CartCaller[]
  /** The token of a guest, by name. */
  readonly tokenOf: (guest: string) => string
  /** Called when a guest learns that it has been claimed. */
  readonly onRetired: (caller: CartCaller) => Promise<void>
  readonly onResult: () => void
  /** Receives failures that no history could explain. */
  readonly onFailure: (text: string) => void
}

/** Few products, so that all clients meet on the same lines. */
const products = ['tea', 'coffee', 'milk']
/** A request without a response after this time is a failure, in milliseconds. */
const PATIENCE = 60_000

/** A client that makes random operations, one after the other, and records them in a history. */
export class CartClient {
  readonly #options: CartClientOptions

  constructor(options: CartClientOptions) {
    this.#options = options
  }

  async run(operations: number): Promise<void> {
    const { random, history, caller: next, onRetired } = this.#options
    for (let left = operations; left > 0; left--) {
      const caller = next()
      const input = this.#choose(caller)
      const isKeyed = input.kind === 'add' && random.chance(0.3)
      // A random key, because the clients of one caller share its keys.
      const key = { 'idempotency-key': String(random.next()) }
      const { output } = await history.record(input, () =>
        isKeyed ? this.#sendKeyed(caller, input, key) : this.#send(caller, input),
      )
      if (output?.status === 401) await onRetired(caller)
      else if (output && isKeyed && random.chance(0.3)) await this.#ask(caller, input, key)
    }
  }

  /** The caller's present view. */
  async look(caller: CartCaller): Promise<void> {
    const input = { kind: 'read', caller: caller.name } as const
    await this.#options.history.record(input, () => this.#send(caller, input))
  }

  #choose({ name: caller, cart, lines }: CartCaller): CartInput {
    const { random, guests } = this.#options
    const ids = [...lines.keys()].slice(-4)
    const id = ids[random.between(0, ids.length - 1)]
    const claimable = guests()
    const guest = claimable[random.between(0, claimable.length - 1)]
    const sometimes = (seen: Seen | undefined) => (random.chance(0.2) ? seen : undefined)
    const item = id === undefined ? undefined : { id, version: lines.get(id) as number }
    const kinds: [number, () => CartInput][] = [
      [6, () => ({ kind: 'read', caller })],
      [
        7,
        () => ({
          ...{ kind: 'add', caller, ifMatch: sometimes(cart) },
          product: products[random.between(0, products.length - 1)] as string,
          quantity: random.chance(0.03) ? 9990 : random.between(1, 9),
        }),
      ],
      [1, () => ({ kind: 'clear', caller, ifMatch: sometimes(cart) })],
    ]
    if (item !== undefined) {
      const quantity = random.between(1, 9)
      kinds.push(
        [1, () => ({ kind: 'read item', caller, id: item.id })],
        [4, () => ({ kind: 'change', caller, id: item.id, quantity, ifMatch: sometimes(item) })],
        [3, () => ({ kind: 'remove', caller, id: item.id, ifMatch: sometimes(item) })],
      )
    }
    if (guest !== undefined) kinds.push([1, () => ({ kind: 'claim', caller, guest: guest.name })])
    return random.weighted(kinds)()
  }

  async #send(caller: CartCaller, input: CartInput): Promise<Outcome<CartOutput>> {
    const isRead = input.kind === 'read' || input.kind === 'read item'
    const cut = !isRead && this.#options.random.chance(0.02) ? 'before the response' : undefined
    const outcome = await this.#ask(caller, input, {}, cut)
    return isRead && outcome.output === undefined ? { happened: 'not' } : outcome
  }

  /** Repeats the request until it gets a response, sometimes twice at once. */
  async #sendKeyed(
    caller: CartCaller,
    input: CartInput,
    key: Readonly<Record<string, string>>,
  ): Promise<Outcome<CartOutput>> {
    const { random, onFailure } = this.#options
    let wasSent = false
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; ) {
      const attempts = Array.from({ length: random.between(1, 2) }, () =>
        this.#ask(caller, input, key, random.chance(0.15) ? 'before the response' : undefined),
      )
      const outcomes = await Promise.all(attempts)
      const response = outcomes.find(({ output }) => output !== undefined && output.status !== 401)
      if (response !== undefined) return response
      wasSent ||= outcomes.some((outcome) => outcome.output === undefined && outcome.happened === 'perhaps')
      const refused = outcomes.find(({ output }) => output !== undefined)
      // The response to a claimed guest. Any effect of an earlier attempt came before the claim.
      if (refused !== undefined) return wasSent ? { happened: 'perhaps' } : refused
    }
    onFailure(`${JSON.stringify(input)} had no response within ${PATIENCE / 1000} s`)
    return { happened: 'perhaps' }
  }

  async #ask(
    caller: CartCaller,
    input: CartInput,
    headers: Readonly<Record<string, string>>,
    cut?: Cut,
  ): Promise<Outcome<CartOutput>> {
    const { agent, target, tokenOf, onResult, onFailure } = this.#options
    const { path, ...request } = requestOf(input, tokenOf)
    const all = { ...caller.headers, ...request.headers, ...headers }
    let response: Reply
    try {
      response = await ask(agent, { ...request, headers: all, url: target() + path }, cut)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') return { happened: 'perhaps' }
      // The host is starting.
      await pause(50)
      return { happened: 'not' }
    }
    onResult()
    const { status, body } = response
    const code = status >= 400 ? JSON.parse(body).code : undefined
    if (code === 'busy' || code === 'database-unavailable') return { happened: 'not' }
    if (code === 'outcome-unknown' || code === 'idempotency-running') return { happened: 'perhaps' }
    if (status >= 500 || status === 400) onFailure(`${JSON.stringify(input)} got ${body}`)
    let output: CartOutput
    try {
      output = outputOf(input, status, body)
    } catch (error) {
      onFailure((error as Error).message)
      return { happened: 'perhaps' }
    }
    caller.learn(output)
    return { output }
  }
}
