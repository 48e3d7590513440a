import type { Config } from '../config.ts'
import type { MetricFamily } from '../metrics/metric-family.ts'
import { type Allowance, WindowCounter } from './window-counter.ts'

export type LimitName = 'caller' | 'address' | 'new-guests'

/** What each caller and each address may do in a minute. It belongs to the process, and outlives generations. */
export class RateLimits {
  readonly counters: Readonly<Record<LimitName, WindowCounter>>
  readonly #refused: Record<LimitName, number> = { caller: 0, address: 0, 'new-guests': 0 }
  /** What the database's clock is ahead of this machine's, in milliseconds: windows are those of all hosts. */
  ahead = 0

  constructor({ max, maxPerAddress, maxNewGuests }: Config['rateLimit']) {
    this.counters = {
      caller: new WindowCounter(max),
      address: new WindowCounter(maxPerAddress),
      'new-guests': new WindowCounter(maxNewGuests),
    }
  }

  now(): number {
    return Date.now() + this.ahead
  }

  take(name: LimitName, key: string): Allowance {
    const allowance = this.counters[name].take(key, this.now())
    if (allowance.isSpent) this.#refused[name] += 1
    return allowance
  }

  giveBack(name: LimitName, key: string): void {
    this.counters[name].giveBack(key, this.now())
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
