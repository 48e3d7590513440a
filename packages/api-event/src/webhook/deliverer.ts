import {
  type Audit,
  ClockWatch,
  DAY,
  type Database,
  DatabaseError,
  type DatabaseErrorKind,
  type EventLog,
  newId,
  type Transaction,
  toCloudEvent,
} from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { count } from '../count.ts'
import type { Backlog } from './backlog.ts'
import type { Clock } from './clock.ts'
import { endAttempt, isDue, type LeasedDelivery, leaseDue, makeDue, type State } from './deliveries.ts'
import type { Destinations } from './destinations.ts'
import { type Outcome, post } from './post.ts'
import { clearFailing, disable, setFailing } from './repository.ts'
import { pauseAfter } from './retry-delays.ts'
import { signedHeaders } from './signatures.ts'
import { TEST_TYPE } from './test-event.ts'

// One transaction leases a delivery, the attempt runs outside of any transaction, and a second one
// writes the outcome. A lease expires long after the attempt must have ended, so that another host
// takes over from a dead one. The receiver may then get the delivery twice, with the same id.

/** The most concurrent attempts of a process, of a webhook, and of an owner's webhooks. */
const AT_ONCE = 64
const PER_WEBHOOK = 4
const PER_OWNER = 16
/** The term of a lease, in milliseconds. */
const LEASE = 60_000
/**
 * The characters to keep of the response to a successful delivery. Few, because there may be very
 * many.
 */
const SUCCESS_SHOWN = 256
/** A webhook that fails for this long is disabled. In milliseconds. */
const FAILING = 5 * DAY
/** The status of a receiver that wants no more deliveries (410 Gone). */
const GONE = 410

/** A receiver may delay the stop of a host this long, in milliseconds. */
const PATIENCE = 3_000
const passing = new Set<DatabaseErrorKind>(['busy', 'full', 'held', 'unavailable'])

export interface DelivererOptions {
  readonly database: Database
  readonly events: EventLog
  readonly backlog: Backlog
  readonly destinations: Destinations
  readonly audit: Audit
  readonly log: FastifyBaseLogger
  readonly clock: Clock
  /** Closing waits this long, in milliseconds. */
  readonly patience?: number
}

/** Sends due deliveries, several at a time. Any number of processes may do this on one database. */
export class Deliverer {
  readonly #options: DelivererOptions
  /** The number of attempts in progress, by webhook and by owner. */
  readonly #underWay = new Map<string, number>()
  readonly #underWayOf = new Map<string, number>()
  #running: Promise<void> | undefined
  #look = () => {}
  #closing = false
  #clock = new ClockWatch()
  #isFirst = true
  readonly #ended = new AbortController()

  constructor(options: DelivererOptions) {
    this.#options = options
  }

  /** Sends what is due. Resolves when nothing is due or in progress. */
  deliverDue(): Promise<void> {
    this.#look()
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Waits briefly for attempts in progress, then aborts them: another process sends them again. */
  async close(): Promise<void> {
    this.#closing = true
    const timer = setTimeout(() => this.#ended.abort(), this.#options.patience ?? PATIENCE)
    await this.#running
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    const sending = new Set<Promise<void>>()
    let ended = 0
    for (;;) {
      const endedBefore = ended
      const looked = new Promise<void>((resolve) => {
        this.#look = resolve
      })
      const leasedAt = performance.now()
      const leased = this.#closing ? [] : await this.#lease(AT_ONCE - sending.size)
      for (const delivery of leased) {
        const sent = this.#deliver(delivery, leasedAt).finally(() => {
          sending.delete(sent)
          ended += 1
        })
        sending.add(sent)
      }
      // An attempt that ended during the query may have made the next delivery due.
      if (ended > endedBefore) continue
      if (sending.size === 0) return
      await Promise.race([looked, ...sending])
    }
  }

  async #lease(limit: number): Promise<LeasedDelivery[]> {
    if (limit === 0) return []
    const { database, clock, log } = this.#options
    const counts = { underWay: new Map(this.#underWay), underWayOf: new Map(this.#underWayOf) }
    const limits = { limit, perWebhook: PER_WEBHOOK, perOwner: PER_OWNER }
    const claim = newId('claim')
    try {
      const { due, now } = await database.snapshot(function* () {
        const now = yield* clock()
        return { due: yield* isDue(now), now }
      })
      if (this.#clock.wentBack(now)) await this.#makeDue()
      else if (!due) return []
      return await database.transaction(function* () {
        const now = yield* clock()
        return yield* leaseDue({ claim, ...limits, ...counts, now, until: now + LEASE })
      })
    } catch (error) {
      this.#clock = new ClockWatch()
      log[levelOf(error)](error, 'cannot look for deliveries of webhooks')
      return []
    }
  }

  /** Leases from before the start of this process are due. Later ones may be in progress. */
  async #makeDue(): Promise<void> {
    const { database, clock } = this.#options
    const rest = this.#isFirst ? 0 : LEASE
    await database.transaction(function* () {
      const now = yield* clock()
      yield* makeDue(now, LEASE, now + rest)
    })
    this.#isFirst = false
  }

  async #deliver(delivery: LeasedDelivery, leasedAt: number): Promise<void> {
    const { webhook, owner } = delivery
    count(this.#underWay, webhook, 1)
    count(this.#underWayOf, owner, 1)
    try {
      // The process stood still for so long that another may be about to send this delivery.
      if (performance.now() - leasedAt > LEASE / 2) return
      const { database, backlog } = this.#options
      const body = await this.#bodyOf(delivery)
      const outcome = body === undefined ? expired : await this.#send(delivery, body)
      const verdict = verdictOf(delivery, outcome)
      await database.transaction(() => this.#end(delivery, shown(outcome, verdict), verdict))
      if (verdict.state !== 'pending') await backlog.fillUp(webhook)
    } catch (error) {
      const { log } = this.#options
      log[levelOf(error)](
        error,
        `cannot read or write the delivery of ${delivery.id} to ${webhook}; the host tries again in a minute`,
      )
    } finally {
      count(this.#underWay, webhook, -1)
      count(this.#underWayOf, owner, -1)
    }
  }

  /** The body is the same in every attempt. Undefined if retention deleted the event. */
  async #bodyOf({ id, position, body }: LeasedDelivery): Promise<string | undefined> {
    if (body !== null) return body
    const [event] = await this.#options.events.read({ after: position - 1, limit: 1 })
    return event?.id === id ? JSON.stringify(toCloudEvent(event)) : undefined
  }

  #send({ url, secrets, id }: LeasedDelivery, body: string): Promise<Outcome> {
    const headers = {
      ...signedHeaders(secrets, id, new Date(), body),
      'content-type': 'application/cloudevents+json',
      'user-agent': 'mortise-webhook',
    }
    return post(new URL(url), headers, Buffer.from(body), this.#options.destinations, {
      ended: this.#ended.signal,
    })
  }

  *#end(delivery: LeasedDelivery, outcome: Outcome, { state, pause }: Verdict): Transaction<void> {
    const { clock, audit } = this.#options
    const { webhook, type } = delivery
    const now = yield* clock()
    const kept = yield* endAttempt(delivery, outcome, state, pause === undefined ? null : now + pause, now)
    if (!kept || type === TEST_TYPE || outcome === expired) return
    if (state === 'delivered') return yield* clearFailing(webhook)
    yield* setFailing(webhook, now)
    const gone = outcome.status === GONE
    const reason = gone ? 'gone' : 'failing'
    if (yield* disable(webhook, reason, gone ? now : now - FAILING, now)) {
      yield* audit({ action: 'webhook.disabled', object: webhook, details: { reason } })
    }
  }
}

/** Other code logs an unavailable database, and the failed work is retried soon. */
const levelOf = (error: unknown) =>
  error instanceof DatabaseError && passing.has(error.kind) ? 'debug' : 'warn'

const expired: Outcome = {
  status: null,
  error: 'not sent: the event was deleted (events.retentionDays)',
  response: null,
}

/** The outcome of an attempt; `pause` is the time until the next one, in milliseconds. */
interface Verdict {
  readonly state: State
  readonly pause?: number | undefined
}

function shown(outcome: Outcome, { state }: Verdict): Outcome {
  if (state !== 'delivered') return outcome
  return { ...outcome, response: outcome.response?.slice(0, SUCCESS_SHOWN) ?? null }
}

function verdictOf({ type, attempts }: LeasedDelivery, outcome: Outcome): Verdict {
  if (outcome === expired) return { state: 'failed' }
  const { status, retryAfter } = outcome
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' }
  const pause = status === GONE || type === TEST_TYPE ? undefined : pauseAfter(attempts + 1, retryAfter)
  return { state: pause === undefined ? 'failed' : 'pending', pause }
}
