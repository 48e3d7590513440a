import { setTimeout as pause } from 'node:timers/promises'
import type { Asked, Cut, Headers } from '../../harness/caller.ts'
import type { Random } from '../../harness/random.ts'
import type { CartCaller } from './cart-caller.ts'
import type { CartInput, CartOutput, Seen } from './cart-model.ts'
import { outputOf, requestOf } from './cart-request.ts'
import type { History, Outcome } from './history.ts'

export interface CartClientOptions {
  readonly random: Random
  readonly history: History<CartInput, CartOutput>
  /** Chooses the caller of the next operation. */
  readonly caller: () => CartCaller
  /** The guests that a user may claim now; none for a guest. */
  readonly guests: () => readonly CartCaller[]
  /** The headers of a guest, by name. */
  readonly headersOf: (guest: string) => Headers
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
    const id = random.oneOf(ids)
    const guest = random.oneOf(guests())
    const sometimes = (seen: Seen | undefined) => (random.chance(0.2) ? seen : undefined)
    const kinds: [number, () => CartInput][] = [
      [6, () => ({ kind: 'read', caller })],
      [
        7,
        () => ({
          ...{ kind: 'add', caller, ifMatch: sometimes(cart) },
          product: random.oneOf(products),
          quantity: random.chance(0.03) ? 9990 : random.between(1, 9),
        }),
      ],
      [1, () => ({ kind: 'clear', caller, ifMatch: sometimes(cart) })],
    ]
    if (id !== undefined) {
      const item = { id, version: lines.get(id) as number }
      const quantity = random.between(1, 9)
      kinds.push(
        [1, () => ({ kind: 'read item', caller, id })],
        [4, () => ({ kind: 'change', caller, id, quantity, ifMatch: sometimes(item) })],
        [3, () => ({ kind: 'remove', caller, id, ifMatch: sometimes(item) })],
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
  async #sendKeyed(caller: CartCaller, input: CartInput, key: Headers): Promise<Outcome<CartOutput>> {
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
    client: CartCaller,
    input: CartInput,
    headers: Headers,
    cut?: Cut,
  ): Promise<Outcome<CartOutput>> {
    const { headersOf, onResult, onFailure } = this.#options
    const request = requestOf(input, headersOf)
    const asked: Asked = { ...request, headers: { ...request.headers, ...headers } }
    const reply = await client.caller.send(asked, cut).catch((error: NodeJS.ErrnoException) => error)
    if (reply instanceof Error) {
      if (reply.code !== 'ECONNREFUSED') return { happened: 'perhaps' }
      // The host is starting.
      await pause(50)
      return { happened: 'not' }
    }
    onResult()
    const { status, code, text } = reply
    if (code === 'busy' || code === 'database-unavailable') return { happened: 'not' }
    if (code === 'outcome-unknown' || code === 'idempotency-running') return { happened: 'perhaps' }
    if (status >= 500 || status === 400) onFailure(`${JSON.stringify(input)} got ${text}`)
    try {
      const output = outputOf(input, reply)
      client.learn(output)
      return { output }
    } catch (error) {
      onFailure((error as Error).message)
      return { happened: 'perhaps' }
    }
  }
}
