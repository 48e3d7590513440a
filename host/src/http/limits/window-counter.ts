import type { Config } from '@mortise/application'
import { LRUCache } from 'lru-cache'
import { counter, type MetricFamily } from '../../telemetry/prometheus-format.ts'

/** Limits in bytes count request bodies. */
export type LimitName = 'caller' | 'address' | 'new-guests' | 'caller-bytes' | 'address-bytes'

/**
 * The limits per minute for each caller and each address. They belong to the process and outlive
 * generations.
 */
export class RateLimits {
  readonly counters: Readonly<Record<LimitName, WindowCounter>>
  /**
   * Offset to the monotonic clock of this process, which never jumps, unlike the machine's clock.
   */
  #began = performance.timeOrigin

  constructor(config: Config['rateLimit']) {
    const { max, maxPerAddress, maxNewGuests, maxBytes, maxBytesPerAddress } = config
    this.counters = {
      caller: new WindowCounter(max),
      address: new WindowCounter(maxPerAddress),
      'new-guests': new WindowCounter(maxNewGuests),
      'caller-bytes': new WindowCounter(maxBytes),
      'address-bytes': new WindowCounter(maxBytesPerAddress),
    }
  }

  /** Epoch milliseconds. */
  now(): number {
    return Math.trunc(this.#began + performance.now())
  }

  /** Adopts the database's clock, so that all hosts share the same windows. */
  follow(now: number): void {
    this.#began = now - performance.now()
  }

  take(name: LimitName, key: string, amount = 1): Allowance {
    return this.counters[name].take(key, this.now(), amount)
  }

  /** See `WindowCounter`. */
  reserve(name: LimitName, key: string): Allowance {
    return this.counters[name].reserve(key, this.now())
  }

  settle(name: LimitName, key: string, isUsed: boolean): void {
    this.counters[name].settle(key, this.now(), isUsed)
  }

  giveBack(name: LimitName, key: string, amount = 1): void {
    this.counters[name].giveBack(key, this.now(), amount)
  }

  families(): MetricFamily[] {
    const samples = Object.entries(this.counters).map(([limit, { refused }]) => ({
      labels: { limit },
      value: refused,
    }))
    return [counter('mortise_rate_limited_total', 'Requests refused by rate limits, by limit', samples)]
  }
}

/** In milliseconds. All limits are per minute. */
export const WINDOW = 60_000
/** Keys remembered; the one unused for longest is dropped first. */
export const MOST_KEYS = 50_000

/** The use of one key in the current and in the previous window. */
class Usage {
  window = -1
  /** Counted by this process. */
  own = 0
  /** The part of `own` that the other hosts know. */
  synced = 0
  /** Counted by other hosts, as far as they reported it. */
  others = 0
  previous = 0
  /** Uses that may not come about: see `reserve`. */
  reserved = 0

  moveTo(window: number): void {
    if (this.window === window) return
    this.previous = this.window === window - 1 ? this.own + this.others : 0
    this.own = this.synced = this.others = 0
    this.window = window
  }
}

/** The rest of a limit. */
export interface Allowance {
  /** The request was over the limit; it is not counted then. */
  readonly isSpent: boolean
  readonly remaining: number
  /** Seconds until the limit allows more, at least one. */
  readonly seconds: number
}

/** A count that the other hosts do not know yet. */
export interface Unsynced {
  readonly key: string
  readonly window: number
  readonly count: number
}

/**
 * Counts by key, with `max` per minute. The minute slides: the previous window counts with the part
 * that the current one has not replaced yet. So the full limit never returns at once, and a short
 * wait helps.
 */
export class WindowCounter {
  readonly max: number
  /** Uses refused so far. */
  refused = 0
  /** With `max` it would allocate all its memory at once. */
  readonly #usages = new LRUCache<string, Usage>({ maxSize: MOST_KEYS, sizeCalculation: () => 1 })
  /** Keys that other hosts must know: they have used a tenth of the limit here. */
  readonly #busy = new Set<string>()

  constructor(max: number) {
    this.max = max
  }

  /** @param now in epoch milliseconds */
  take(key: string, now: number, amount = 1): Allowance {
    return this.#take(key, now, amount, (usage) => this.#count(key, usage, amount))
  }

  #take(key: string, now: number, amount: number, count: (usage: Usage) => void): Allowance {
    const usage = this.#at(key, now)
    const past = (now % WINDOW) / WINDOW
    const used = usage.own + usage.others + usage.reserved + usage.previous * (1 - past)
    if (used + amount > this.max) {
      this.refused += 1
      const remaining = Math.max(0, Math.floor(this.max - used))
      return { isSpent: true, remaining, seconds: this.#wait(usage, past, amount) }
    }
    count(usage)
    const remaining = Math.floor(this.max - used - amount)
    return { isSpent: false, remaining, seconds: Math.ceil((1 - past) * (WINDOW / 1000)) }
  }

  /** As `take`, for a use that may fail: it counts here until `settle`, and only then for other hosts. */
  reserve(key: string, now: number): Allowance {
    return this.#take(key, now, 1, (usage) => {
      usage.reserved += 1
    })
  }

  settle(key: string, now: number, isUsed: boolean): void {
    const usage = this.#at(key, now)
    // 0 if the key was dropped meanwhile.
    if (usage.reserved > 0) usage.reserved -= 1
    if (isUsed) this.#count(key, usage, 1)
  }

  /** Undoes a `take` whose purpose failed. A count that other hosts know stays. */
  giveBack(key: string, now: number, amount = 1): void {
    const usage = this.#at(key, now)
    usage.own -= Math.min(amount, usage.own - usage.synced)
  }

  /** Counts of at most `most` keys since the last report to the other hosts. */
  unsynced(now: number, most: number): Unsynced[] {
    const window = Math.trunc(now / WINDOW)
    const found: Unsynced[] = []
    for (const key of this.#busy) {
      if (found.length === most) break
      const usage = this.#usages.peek(key)
      if (usage?.window !== window) this.#busy.delete(key)
      else found.push({ key, window, count: usage.own - usage.synced })
    }
    return found
  }

  /** @param total the count of all hosts together, which contains this host's `count` */
  synced({ key, window, count }: Unsynced, total: number): void {
    const usage = this.#usages.peek(key)
    if (usage?.window !== window) return
    usage.synced += count
    usage.others = total - usage.synced
    // Moves the key to the end for the next report.
    this.#busy.delete(key)
    this.#busy.add(key)
  }

  #count(key: string, usage: Usage, amount: number): void {
    usage.own += amount
    if (usage.own * 10 >= this.max) this.#busy.add(key)
  }

  #at(key: string, now: number): Usage {
    let usage = this.#usages.get(key)
    if (usage === undefined) {
      usage = new Usage()
      this.#usages.set(key, usage)
    }
    usage.moveTo(Math.trunc(now / WINDOW))
    return usage
  }

  /**
   * Seconds until this amount is allowed, without further use; a minute for an amount over the
   * limit.
   */
  #wait({ own, others, previous }: Usage, past: number, amount: number): number {
    if (amount > this.max) return WINDOW / 1000
    const free = this.max - amount
    const current = own + others
    // In this window if the previous one fades enough; otherwise in the next one, in which this one
    // fades.
    const until = current <= free ? 1 - (free - current) / previous : 2 - free / current
    return Math.max(1, Math.ceil((until - past) * (WINDOW / 1000)))
  }
}
