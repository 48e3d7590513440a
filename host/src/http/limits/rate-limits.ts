import type { Config } from '../../config/config.ts'
import type { MetricFamily } from '../../telemetry/metric-family.ts'
import { type Allowance, WindowCounter } from './window-counter.ts'

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
