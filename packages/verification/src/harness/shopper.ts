import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Reply } from './caller.ts'
import type { Random } from './random.ts'

/** A purchase or an addition to the cart, and what the caller knows of it. */
interface Write {
  readonly kind: 'purchase' | 'addition'
  readonly product: string
  readonly quantity: number
  readonly key: string | undefined
  /** Unknown: the connection broke, or the response says so. */
  outcome: 'done' | 'not done' | 'unknown'
  /** The acknowledged response. */
  text: string
  /** Of a purchase. */
  id: string | undefined
}

export interface Habits {
  /** What a shopper does next, by weight; by default it purchases. */
  readonly does?: readonly (readonly [weight: number, what: Action])[]
  /** Which writes have an Idempotency-Key; by default purchases. */
  readonly keyed?: readonly Write['kind'][]
  /**
   * After a broken connection it leaves, continues, or repeats the write until it has a response;
   * otherwise it is a failure.
   */
  readonly ifBroken?: 'leave' | 'continue' | 'insist'
  /** The pause between two requests, in milliseconds; by default none. */
  readonly pause?: readonly [least: number, most: number]
  /** The most writes; by default it continues until it is stopped. */
  readonly most?: number
  /** Whether the response is one of those that are allowed; by default all are. */
  readonly mayGet?: (reply: Reply) => boolean
}

/** A write, a repetition of an earlier one with its key, a look at the cart and at a purchase, or anything else. */
type Action = Write['kind'] | 'repeat' | 'look' | (() => Promise<unknown>)

/** The largest quantity of an item is 9,999. */
const SAME_PRODUCT = 9_000

let shoppers = 0

/**
 * Sends one request after the other, and remembers each response. `check` compares this with what
 * the application has: acknowledged writes are there once, rejected ones are not, and unknown ones
 * once or not at all.
 */
export class Shopper {
  readonly #caller: Caller
  readonly #random: Random
  readonly #habits: Habits
  /** Shoppers of one caller share their number and their writes. */
  readonly #number: number
  readonly #writes: Write[]
  readonly failures: string[] = []
  #running: Promise<void> | undefined
  #stopped = false
  #deaf = false
  #unknown = 0
  requests = 0
  repetitions = 0
  /** The number of rejected writes (503). */
  denied = 0
  /** The slowest response to a write, in milliseconds. */
  slowest = 0
  /** The time of the last acknowledgement, by `performance.now()`. */
  last = 0

  constructor(caller: Caller, random: Random, habits: Habits = {}, same?: Shopper) {
    this.#caller = caller
    this.#number = same === undefined ? shoppers++ : same.#number
    this.#writes = same === undefined ? [] : same.#writes
    this.#random = random
    this.#habits = habits
  }

  /** One more client of the same caller. */
  another(random: Random): Shopper {
    return new Shopper(this.#caller, random, this.#habits, this)
  }

  get caller(): Caller {
    return this.#caller
  }

  count(outcome: Write['outcome']): number {
    return this.#writes.filter((write) => write.outcome === outcome).length
  }

  /** The ids of acknowledged purchases, in this order. */
  get bought(): string[] {
    return this.#writes.flatMap(({ id, outcome }) => (id === undefined || outcome !== 'done' ? [] : [id]))
  }

  start(): void {
    this.#stopped = false
    this.#deaf = false
    this.#running = this.#run()
  }

  /** Resolves when it has made its `most` writes. */
  async finished(): Promise<void> {
    await this.#running
  }

  /** Resolves after the last response. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** Ignores all responses from now on, as if none arrived. */
  ignoreResponses(): void {
    this.#deaf = true
  }

  async #run(): Promise<void> {
    const { does = [[1, 'purchase']], pause: [least, most] = [0, 0], most: writes } = this.#habits
    for (let count = 0; !this.#stopped && count !== writes; count += 1) {
      try {
        await this.#do(this.#random.weighted(does))
      } catch (error) {
        const { ifBroken } = this.#habits
        if (ifBroken === 'leave') return
        if (ifBroken === undefined) this.#fail(`a request failed: ${(error as Error).message}`)
        await pause(20)
      }
      if (most > 0) await pause(this.#random.between(least, most))
    }
  }

  async #do(action: Action): Promise<unknown> {
    this.requests += 1
    if (typeof action === 'function') return action()
    if (action === 'look') return this.#look()
    if (action === 'repeat') return this.#repeat()
    const number = this.#writes.length
    const name = `${this.#number}-${number}`
    // Another product after each write of unknown outcome, so that a product has at most one.
    const product =
      action === 'purchase'
        ? name
        : `tea-${this.#number}-${this.#unknown}-${Math.floor(number / SAME_PRODUCT)}`
    const isKeyed = (this.#habits.keyed ?? ['purchase']).includes(action)
    const write: Write = {
      ...{ kind: action, product, quantity: 1, key: isKeyed ? `key-${name}` : undefined },
      ...{ outcome: 'unknown', text: '', id: undefined },
    }
    this.#writes.push(write)
    const begun = performance.now()
    try {
      const reply = await this.#send(write)
      if (this.#deaf) return
      this.#note(write, reply)
      if (write.outcome === 'not done') await pause(20)
    } finally {
      this.slowest = Math.max(this.slowest, performance.now() - begun)
      if (write.outcome === 'unknown') this.#unknown += 1
    }
  }

  #note(write: Write, reply: Reply): void {
    const { status, text } = reply
    if (this.#habits.mayGet?.(reply) === false) this.#fail(`${write.product} got ${status} ${text}`)
    if (status < 300) {
      Object.assign(write, {
        outcome: 'done',
        text,
        id: write.kind === 'purchase' ? reply.json.id : undefined,
      })
      this.last = performance.now()
    } else if (reply.code !== 'outcome-unknown') {
      write.outcome = 'not done'
      if (status === 503) this.denied += 1
    }
  }

  async #send({ kind, product, quantity, key }: Write): Promise<Reply> {
    const item = { product, quantity }
    const [path, body] = kind === 'purchase' ? ['/purchase', { items: [item] }] : ['/cart/item', item]
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    if (this.#habits.ifBroken !== 'insist') return this.#caller.post(path, body, headers)
    return this.#caller.insist({ method: 'POST', path, body, headers })
  }

  /** Each host shows what any host has acknowledged. */
  async #look(): Promise<void> {
    const id = this.bought.at(-1)
    const { items } = (await this.#read('/cart')).json
    if (new Set(items.map(({ product }: Write) => product)).size < items.length)
      this.#fail('a cart has two lines of one product')
    if (id !== undefined) await this.#read(`/purchase/${id}`)
  }

  /** Repeats an earlier write, like a client that missed the response. */
  async #repeat(): Promise<void> {
    const done = this.#writes.filter(({ key, outcome }) => key !== undefined && outcome === 'done')
    const write = done[this.#random.between(0, done.length - 1)]
    if (write === undefined) return
    this.repetitions += 1
    this.#fail(...(await this.#checkKey(write)))
  }

  /** What does not hold at the host, once nobody writes any more. */
  async check(): Promise<string[]> {
    const failures = this.failures.splice(0)
    for (const write of this.#writes)
      if (write.key !== undefined) failures.push(...(await this.#checkKey(write)))
    if (this.#writes.some(({ kind }) => kind === 'purchase')) failures.push(...(await this.#checkPurchases()))
    if (this.#writes.some(({ kind }) => kind === 'addition')) failures.push(...(await this.#checkCart()))
    return failures
  }

  /** Repeats a write: an acknowledged one gets the same response. Afterwards it is done. */
  async #checkKey(write: Write): Promise<string[]> {
    const { outcome, text, key } = write
    const reply = await this.#send(write)
    if (reply.status >= 300) return [`${key} gets ${reply.status} when it is repeated: ${reply.text}`]
    if (outcome === 'not done' && reply.isReplay) return [`${key} was denied and has happened`]
    if (outcome !== 'done') this.#note(write, reply)
    else if (!reply.isReplay) return [`${key} was acknowledged and is lost`]
    else if (reply.text !== text) return [`${key} gets another response than before`]
    return []
  }

  async #checkPurchases(): Promise<string[]> {
    const failures: string[] = []
    const listed = (await this.#caller.list<{ id: string }>('/purchase?rpp=100')).map(({ id }) => id)
    const left = new Set(listed)
    if (left.size < listed.length) failures.push(`${listed.length - left.size} purchases are listed twice`)
    for (const id of this.bought) if (!left.delete(id)) failures.push(`the purchase ${id} is lost`)
    for (const write of this.#unsure('purchase')) {
      const [id] = left
      Object.assign(write, id === undefined ? { outcome: 'not done' } : { outcome: 'done', id })
      if (id !== undefined) left.delete(id)
    }
    if (left.size > 0) failures.push(`there are ${left.size} purchases that were not made`)
    return failures
  }

  async #checkCart(): Promise<string[]> {
    const { items } = (await this.#read('/cart')).json as { items: Write[] }
    const found = new Map(items.map(({ product, quantity }) => [product, quantity]))
    const failures = found.size < items.length ? ['a cart has two lines of one product'] : []
    for (const { product, quantity, kind, outcome } of this.#writes)
      if (kind === 'addition' && outcome === 'done') found.set(product, (found.get(product) ?? 0) - quantity)
    for (const write of this.#unsure('addition')) {
      const isThere = (found.get(write.product) ?? 0) >= write.quantity
      write.outcome = isThere ? 'done' : 'not done'
      if (isThere) found.set(write.product, (found.get(write.product) ?? 0) - write.quantity)
    }
    for (const [product, more] of found)
      if (more !== 0) failures.push(`a cart has ${more} more of ${product} than were acknowledged`)
    return failures
  }

  #unsure(kind: Write['kind']): Write[] {
    return this.#writes.filter((write) => write.kind === kind && write.outcome === 'unknown')
  }

  /** Reads until the host can. */
  async #read(path: string): Promise<Reply> {
    const reply = await this.#caller.insist({ method: 'GET', path })
    if (reply.status !== 200) this.#fail(`GET ${path} got ${reply.status} ${reply.text}`)
    return reply
  }

  #fail(...texts: readonly string[]): void {
    this.failures.push(...texts)
  }
}
