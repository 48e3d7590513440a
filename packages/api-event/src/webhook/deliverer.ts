import {
  type Audit,
  ClockWatch,
  DAY,
  type Destinations,
  Loop,
  type ModuleContext,
  newId,
  pauseAfter,
  type Rest,
  type Transaction,
  toCloudEvent,
} from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { count } from '../count.ts'
import { type Filling, fillAll, fillUp } from './backlog.ts'
import {
  endAttempt,
  isDue,
  type LeasedDelivery,
  leaseDue,
  makeDue,
  type State,
  TEST_TYPE,
} from './deliveries.ts'
import { type Outcome, post } from './post.ts'
import { endProofs, proofsInUse } from './proof.ts'
import { clearFailing, disable, setFailing } from './repository.ts'
import { signedHeaders } from './signatures.ts'

// One transaction leases a delivery, the attempt runs outside of any transaction, and a second one
// writes the outcome. A lease expires long after the attempt must have ended, so that another host
// takes over from a dead one. The receiver may then get the delivery twice, with the same id.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** After each failed attempt, in milliseconds: those of Standard Webhooks, three days in all. */
export const retryDelays = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

/** The most concurrent attempts of a process, of a webhook, and of an owner's webhooks. */
const AT_ONCE = 64
const PER_WEBHOOK = 4
const PER_OWNER = 16
/** The term of a lease, in milliseconds. */
const LEASE = 60_000
/**
 * The interval of the search for webhooks that are behind and have room, and for proofs that have
 * ended, in milliseconds.
 */
const FILL_INTERVAL = 60_000
/**
 * The characters to keep of the response to a successful delivery. Few, because there may be very
 * many.
 */
const SUCCESS_SHOWN = 256
/** A webhook that fails for this long is disabled. In milliseconds. */
const FAILING = 5 * DAY
/** The status of a receiver that wants no more deliveries (410 Gone). */
const GONE = 410

export interface DelivererOptions extends Filling {
  readonly destinations: Destinations
  readonly audit: Audit
  readonly log: FastifyBaseLogger
  readonly trusts: ModuleContext['trusts']
  /** The interval of the search for due deliveries, in milliseconds. */
  readonly lookEvery: number
  /** See `Loop`. */
  readonly patience?: number | undefined
}

/** Sends due deliveries, several at a time. Any number of processes may do this on one database. */
export class Deliverer {
  readonly #options: DelivererOptions
  /** The number of attempts in progress, by webhook and by owner. */
  readonly #underWay = new Map<string, number>()
  readonly #underWayOf = new Map<string, number>()
  readonly #loop: Loop
  readonly #clock = new ClockWatch()
  #isFirst = true
  #filledAt = Number.NEGATIVE_INFINITY

  constructor(options: DelivererOptions) {
    this.#options = options
    const { log, patience } = options
    const trouble = 'deliveries of webhooks cannot be sent'
    this.#loop = new Loop({ step: () => this.#step(), log, trouble, patience })
  }

  /** Sends what is due, from now on. Resolves when nothing is due or in progress. */
  deliverDue(): Promise<void> {
    this.#loop.begin()
    return this.#loop.idle()
  }

  /** Waits briefly for attempts in progress, then aborts them: another process sends them again. */
  close(): Promise<void> {
    return this.#loop.stop()
  }

  /** The end of an attempt begins the next step: it may have made another delivery due. */
  async #step(): Promise<Rest> {
    const leasedAt = performance.now()
    if (leasedAt - this.#filledAt >= FILL_INTERVAL) {
      this.#filledAt = leasedAt
      this.#loop.start(() => fillAll(this.#options))
      this.#loop.start(() => this.#endProofs())
    }
    for (const delivery of await this.#lease(AT_ONCE - this.#loop.tasks)) {
      const { webhook, id } = delivery
      this.#loop.start((stops) => this.#deliver(delivery, leasedAt, stops), { webhook, event: id })
    }
    return { ms: this.#options.lookEvery }
  }

  async #lease(limit: number): Promise<LeasedDelivery[]> {
    if (limit === 0) return []
    const { database, clock } = this.#options
    const counts = { underWay: this.#underWay, underWayOf: this.#underWayOf }
    const limits = { limit, perWebhook: PER_WEBHOOK, perOwner: PER_OWNER }
    const lease = newId('lease')
    const { due, now } = await database.snapshot(function* () {
      const now = yield* clock()
      return { due: yield* isDue(now), now }
    })
    const wentBack = await this.#clock.watch(now, () => this.#makeDue())
    if (!wentBack && !due) return []
    return await database.transaction(function* () {
      const now = yield* clock()
      return yield* leaseDue({ lease, ...limits, ...counts, now, until: now + LEASE })
    })
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

  async #deliver(delivery: LeasedDelivery, leasedAt: number, stops: AbortSignal): Promise<void> {
    const { webhook, owner } = delivery
    count(this.#underWay, webhook, 1)
    count(this.#underWayOf, owner, 1)
    try {
      // The process stood still for so long that another may be about to send this delivery.
      if (performance.now() - leasedAt > LEASE / 2) return
      const outcome = await this.#attempt(delivery, stops)
      const verdict = verdictOf(delivery, outcome)
      await this.#options.database.transaction(() => this.#end(delivery, shown(outcome, verdict), verdict))
      if (verdict.state !== 'pending') await fillUp(this.#options, webhook)
    } finally {
      count(this.#underWay, webhook, -1)
      count(this.#underWayOf, owner, -1)
    }
  }

  async #attempt(delivery: LeasedDelivery, stops: AbortSignal): Promise<Outcome> {
    if (delivery.everyone === 1 && !(await this.#isTrusted(delivery.proof))) return unproven
    const body = await this.#bodyOf(delivery)
    return body === undefined ? expired : await this.#send(delivery, body, stops)
  }

  /** @throws {Problem} if the issuer's keys are unavailable: the lease expires, and then it is asked again */
  #isTrusted = async (proof: string | null) => proof !== null && this.#options.trusts(proof)

  /** For webhooks that send nothing now. */
  async #endProofs(): Promise<void> {
    const { database, audit, clock } = this.#options
    for (const proof of await database.snapshot(() => proofsInUse())) {
      if (await this.#isTrusted(proof).catch(() => true)) continue
      await database.transaction(function* () {
        yield* endProofs(audit, proof, yield* clock())
      })
    }
  }

  /** The body is the same in every attempt. Undefined if retention deleted the event. */
  async #bodyOf({ id, position, body }: LeasedDelivery): Promise<string | undefined> {
    if (body !== null) return body
    const { events } = await this.#options.events.read({ after: position - 1, limit: 1 })
    const [event] = events
    return event?.id === id ? JSON.stringify(toCloudEvent(event)) : undefined
  }

  #send({ url, secrets, id }: LeasedDelivery, body: string, stops: AbortSignal): Promise<Outcome> {
    const headers = {
      ...signedHeaders(secrets, id, new Date(), body),
      'content-type': 'application/cloudevents+json',
      'user-agent': 'mortise-webhook',
    }
    return post(new URL(url), headers, Buffer.from(body), this.#options.destinations, { ended: stops })
  }

  *#end(delivery: LeasedDelivery, outcome: Outcome, { state, pause }: Verdict): Transaction<void> {
    const { clock, audit } = this.#options
    const { webhook, type } = delivery
    const now = yield* clock()
    const kept = yield* endAttempt(delivery, outcome, state, pause === undefined ? null : now + pause, now)
    if (outcome === unproven) return yield* endProofs(audit, delivery.proof, now)
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

const expired: Outcome = {
  status: null,
  error: 'not sent: the event was deleted (events.retentionDays)',
  response: null,
}

const unproven: Outcome = {
  status: null,
  error: "not sent: the host does not trust the token any more that proved the right to everyone's events",
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
  if (outcome === expired || outcome === unproven) return { state: 'failed' }
  const { status, retryAfter = 0 } = outcome
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' }
  const planned = status === GONE || type === TEST_TYPE ? undefined : pauseAfter(retryDelays, attempts + 1)
  if (planned === undefined) return { state: 'failed' }
  return { state: 'pending', pause: Math.max(planned, Math.min(retryAfter * 1_000, DAY)) }
}
