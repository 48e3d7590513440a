import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/config.ts'
import type { MetricFamily } from '../../telemetry/metric-family.ts'

/** Those of bytes count the bodies of requests. */
export type LimitName = 'caller' | 'address' | 'new-guests' | 'caller-bytes' | 'address-bytes'

/** What each caller and each address may do in a minute. It belongs to the process, and outlives generations. */
export class RateLimits {
  readonly counters: Readonly<Record<LimitName, WindowCounter>>
  readonly #refused: Record<LimitName, number> = {
    caller: 0,
    address: 0,
    'new-guests': 0,
    'caller-bytes': 0,
    'address-bytes': 0,
  }
  /** What is added to the time that has passed in this process: it never jumps, as a machine's clock may. */
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

  /** Goes by the database's clock: windows are those of all hosts. */
  follow(now: number): void {
    this.#began = now - performance.now()
  }

  take(name: LimitName, key: string, amount = 1): Allowance {
    const allowance = this.counters[name].take(key, this.now(), amount)
    if (allowance.isSpent) this.#refused[name] += 1
    return allowance
  }

  giveBack(name: LimitName, key: string, amount = 1): void {
    this.counters[name].giveBack(key, this.now(), amount)
  }

  family(): MetricFamily {
    return {
      name: 'mortise_rate_limited_total',
      help: 'Requests that were refused, by the limit that was spent',
      type: 'counter',
      merge: 'sum',
      samples: Object.entries(this.#refused).map(([limit, value]) => ({ labels: { limit }, value })),
    }
  }
}

/** In milliseconds. All limits are per minute. */
export const WINDOW = 60_000
/** How many keys are remembered; whoever has been silent for longest is forgotten first. */
export const MOST_KEYS = 50_000

/** What one key has used in the window that began last, and in the one before. */
class Usage {
  window = -1
  /** Counted here. */
  own = 0
  /** Of `own`, what the other hosts have been told. */
  told = 0
  /** Counted by other hosts, as far as they have told. */
  others = 0
  previous = 0

  moveTo(window: number): void {
    if (this.window === window) return
    this.previous = this.window === window - 1 ? this.own + this.others : 0
    this.own = this.told = this.others = 0
    this.window = window
  }
}

/** What is left of a limit. */
export interface Allowance {
  /** Whether this one was too many; it is not counted then. */
  readonly isSpent: boolean
  readonly remaining: number
  /** Seconds until there is more again, one at least. */
  readonly seconds: number
}

/** What is to be told to the other hosts. */
export interface Unsynced {
  readonly key: string
  readonly window: number
  readonly count: number
}

/**
 * Counts by key, `max` a minute. The minute slides: of what was used in the last full minute, the part counts that the
 * present one has not yet replaced. So there is no moment at which everything is allowed anew, and waiting helps soon.
 */
export class WindowCounter {
  readonly max: number
  readonly #usages = new LRUCache<string, Usage>({ max: MOST_KEYS })
  /** Those that other hosts have to know of: a tenth of the limit is used here. */
  readonly #busy = new Set<string>()

  constructor(max: number) {
    this.max = max
  }

  /** @param now in epoch milliseconds */
  take(key: string, now: number, amount = 1): Allowance {
    const usage = this.#at(key, now)
    const past = (now % WINDOW) / WINDOW
    const used = usage.own + usage.others + usage.previous * (1 - past)
    if (used + amount > this.max) {
      const remaining = Math.max(0, Math.floor(this.max - used))
      return { isSpent: true, remaining, seconds: this.#wait(usage, past, amount) }
    }
    usage.own += amount
    if (usage.own * 10 >= this.max) this.#busy.add(key)
    const remaining = Math.floor(this.max - used - amount)
    return { isSpent: false, remaining, seconds: Math.ceil((1 - past) * (WINDOW / 1000)) }
  }

  /** Undoes a `take`, where what it was for did not happen; what other hosts have been told of stays. */
  giveBack(key: string, now: number, amount = 1): void {
    const usage = this.#at(key, now)
    usage.own -= Math.min(amount, usage.own - usage.told)
  }

  /** What has been counted since the others were last told, of `most` keys. */
  untold(now: number, most: number): Unsynced[] {
    const window = Math.trunc(now / WINDOW)
    const found: Unsynced[] = []
    for (const key of this.#busy) {
      if (found.length === most) break
      const usage = this.#usages.peek(key)
      if (usage?.window !== window) this.#busy.delete(key)
      else found.push({ key, window, count: usage.own - usage.told })
    }
    return found
  }

  /** @param total what all hosts have counted together, with `count` of this one */
  told({ key, window, count }: Unsynced, total: number): void {
    const usage = this.#usages.peek(key)
    if (usage?.window !== window) return
    usage.told += count
    usage.others = total - usage.told
    // Last in line for the next time.
    this.#busy.delete(key)
    this.#busy.add(key)
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

  /** Seconds until so much more is allowed, if nothing else is taken meanwhile; a minute for more than there ever is. */
  #wait({ own, others, previous }: Usage, past: number, amount: number): number {
    if (amount > this.max) return WINDOW / 1000
    const free = this.max - amount
    const current = own + others
    // This window, where the former one fades in time; else the next one, where this one has to fade.
    const until = current <= free ? 1 - (free - current) / previous : 2 - free / current
    return Math.max(1, Math.ceil((until - past) * (WINDOW / 1000)))
  }
}
