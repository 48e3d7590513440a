import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Cut, type Reply } from '../../harness/ask.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { CuttingProxy } from './cutting-proxy.ts'

export interface DuplicatesOptions {
  readonly folder: string
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database: string | undefined
  readonly onProgress: (text: string) => void
}

const KEYS = 100
/** A host is killed after at most this many responses. */
const KILL_WITHIN = 150
/** Concurrent keys. */
const AT_ONCE = 16
const MOST_DUPLICATES = 5
/** The time limit for the response to a key, in milliseconds. */
const PATIENCE = 120_000
/** The share of COMMITs whose connection is cut. */
const CUT_COMMITS = 0.05
/** The largest number of reported failures. */
const MOST_FAILURES = 50

/** One intended change, as all duplicates send it. */
interface Intent {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The expected status. */
  readonly status: number
}

/**
 * Sends duplicates of each request to hosts that are killed, over connections that are cut, until it
 * gets a response. Each request must take effect once, and all its responses must be the same bytes.
 */
export async function runDuplicates(options: DuplicatesOptions): Promise<Outcome> {
  const run = new DuplicatesRun(options)
  try {
    return await run.run()
  } finally {
    await run.stop()
  }
}

class DuplicatesRun {
  readonly #options: DuplicatesOptions
  readonly #random: Random
  readonly #agent = new Agent({ keepAlive: true })
  readonly #schema: ReturnType<typeof ownSchema> | undefined
  readonly #proxies: CuttingProxy[] = []
  #hosts: HostGroup | undefined
  /** The first response by key and route. */
  readonly #responses: { readonly intent: Intent; readonly response: string }[] = []
  #cuts = 0
  readonly #failures: string[] = []
  /** Cuts and kills have ended. */
  #isCalm = false
  #requests = 0
  #acknowledged = 0
  #kills = 0
  /** Responses until a host is killed. */
  #untilKill: number
  #killing: Promise<void> | undefined

  constructor(options: DuplicatesOptions) {
    this.#options = options
    this.#schema = options.database === undefined ? undefined : ownSchema(options.database)
    this.#random = new Random(options.seed)
    this.#untilKill = this.#responsesUntilKill()
  }

  async run(): Promise<Outcome> {
    const { seed } = this.#options
    const hosts = await this.#start()
    const users = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => hosts.mintToken(`u${index}`)),
    )
    let next = 0
    const work = async () => {
      while (next < KEYS && this.#failures.length < MOST_FAILURES) {
        const number = next++
        await this.#tryKey(number, users[number % AT_ONCE] as string, new Random(seed * 1_000_003 + number))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    await this.#killing
    this.#untilKill = Number.POSITIVE_INFINITY
    this.#isCalm = true
    for (const proxy of this.#proxies) proxy.cutting = false
    await this.#repeatAll()
    await this.#count(await hosts.mintToken('reader', 'purchase:read'))
    const figures = {
      keys: next,
      requests: this.#requests,
      'responses compared': this.#acknowledged,
      'hosts killed': this.#kills,
      'connections cut': this.#proxies.reduce((sum, { cuts }) => sum + cuts, this.#cuts),
    }
    return { figures, failures: this.#failures }
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    await this.#hosts?.stop()
    for (const proxy of this.#proxies) proxy.close()
    await this.#schema?.drop()
  }

  /** One host on SQLite, or three on PostgreSQL, each with its own proxy. */
  async #start(): Promise<HostGroup> {
    const databases: string[] = []
    for (const number of this.#schema === undefined ? [] : [1, 2, 3]) {
      const { url } = this.#schema as ReturnType<typeof ownSchema>
      const proxy = await CuttingProxy.start(url, new Random(this.#options.seed + number), CUT_COMMITS)
      this.#proxies.push(proxy)
      databases.push(proxy.urlFor(url))
    }
    this.#hosts = await HostGroup.start({
      folder: this.#options.folder,
      modules: ['@mortise/api-purchase'],
      databases,
    })
    // Not before the hosts have migrated the database.
    for (const proxy of this.#proxies) proxy.cutting = true
    return this.#hosts
  }

  async #killOne(): Promise<void> {
    this.#kills += 1
    try {
      await this.#anyHost(this.#random).killAndStart()
      this.#untilKill = this.#responsesUntilKill()
    } catch (error) {
      this.#fail(`a killed host did not start again: ${error}`)
    }
  }

  #responsesUntilKill(): number {
    return this.#random.between(20, KILL_WITHIN)
  }

  #anyHost(random: Random) {
    return (this.#hosts as HostGroup).any(random)
  }

  /** Sends a purchase, and for some a cancellation or an illegal change. */
  async #tryKey(number: number, user: string, random: Random): Promise<void> {
    const headers = { authorization: `Bearer ${user}`, 'idempotency-key': `key-${number}` }
    const body = JSON.stringify({ items: [{ product: `product ${number}`, quantity: 1 }] })
    const made = await this.#send({ method: 'POST', path: '/purchase', headers, body, status: 201 }, random)
    if (made === undefined || random.chance(0.5)) return
    const [status, to] = random.chance(0.5) ? [200, 'cancelled'] : [409, 'pending']
    const path = `/purchase/${JSON.parse(made.body).id}`
    await this.#send({ method: 'PATCH', path, headers, body: JSON.stringify({ status: to }), status }, random)
  }

  /** Sends 1 to 5 duplicates at once. The first repeats until it gets a response, the others may stop. */
  async #send(intent: Intent, random: Random): Promise<Reply | undefined> {
    const duplicates = Array.from({ length: random.between(1, MOST_DUPLICATES) }, (_, index) =>
      this.#sendUntilResponse(intent, new Random(random.between(0, 2 ** 31)), index === 0),
    )
    const responses = (await Promise.all(duplicates)).filter((response) => response !== undefined)
    const name = `${intent.method} ${intent.path} with ${intent.headers['idempotency-key']}`
    const [first] = responses
    if (first === undefined) {
      this.#fail(`${name} had no response within ${PATIENCE / 1000} s`)
      return undefined
    }
    if (first.status !== intent.status) {
      this.#fail(`${name} got ${first.status} instead of ${intent.status}: ${first.body}`)
    }
    const different = new Set(responses.map(lasting))
    if (different.size > 1) this.#fail(`${name} has several responses:\n${[...different].join('\n')}`)
    const originals = responses.filter(({ headers }) => headers['idempotent-replayed'] === undefined)
    if (originals.length > 1) this.#fail(`${name} took effect ${originals.length} times, by its responses`)
    this.#responses.push({ intent, response: lasting(first) })
    return first
  }

  async #sendUntilResponse(intent: Intent, random: Random, persists: boolean): Promise<Reply | undefined> {
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(random.between(1, 40))) {
      const cut = random.weighted<Cut>([
        [6, undefined],
        [1, 'during the request'],
        [2, 'before the response'],
        [1, 'during the response'],
      ])
      const response = await this.#ask(intent, random, this.#isCalm ? undefined : cut)
      if (response !== undefined) return response
      if (!persists && random.chance(0.3)) return undefined
    }
    return undefined
  }

  /** Asks any host. Undefined for a missing response, or one that asks for a retry. */
  async #ask(intent: Intent, random: Random, cut?: Cut): Promise<Reply | undefined> {
    const host = this.#anyHost(random)
    this.#requests += 1
    if (cut) this.#cuts += 1
    let response: Reply
    try {
      response = await ask(this.#agent, { ...intent, url: host.url + intent.path }, cut)
    } catch (error) {
      // It is starting.
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await pause(100)
      return undefined
    }
    const { code } = JSON.parse(response.body)
    if (response.status >= 500 || code === 'idempotency-running') {
      if (code === 'internal-error') this.#fail(`${intent.method} ${intent.path}: ${response.body}`)
      return undefined
    }
    this.#acknowledged += 1
    if (--this.#untilKill === 0) this.#killing = this.#killOne()
    return response
  }

  /** Each host still returns the first response to each request. */
  async #repeatAll(): Promise<void> {
    const left = this.#responses.values()
    const work = async () => {
      for (const { intent, response } of left) {
        const again = await this.#sendUntilResponse(intent, this.#random, true)
        if (
          again === undefined ||
          lasting(again) !== response ||
          again.headers['idempotent-replayed'] !== 'true'
        ) {
          const got = again && `${lasting(again)}, replayed: ${again.headers['idempotent-replayed']}`
          this.#fail(`${intent.method} ${intent.path} got\n${response}\nand at the end with\n${got}`)
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /** Each key has one purchase: there are as many purchases as keys, with different ids. */
  async #count(reader: string): Promise<void> {
    const created = this.#responses.filter(({ intent }) => intent.method === 'POST')
    const ids = new Set(created.map(({ response }) => JSON.parse(response).location))
    if (ids.size !== created.length) this.#fail(`${created.length} keys have ${ids.size} purchases`)
    const { body } = await ask(this.#agent, {
      url: `${this.#anyHost(this.#random).url}/purchase?owner=*&rpp=1`,
      method: 'GET',
      headers: { authorization: `Bearer ${reader}` },
    })
    const { total } = JSON.parse(body)
    if (total !== created.length) this.#fail(`${created.length} keys have ${total} purchases`)
  }

  #fail(text: string): void {
    if (this.#failures.length >= MOST_FAILURES) return
    this.#failures.push(text)
    this.#options.onProgress(`failed: ${text}`)
  }
}

/** The part of the response that must be the same bytes each time. */
const lasting = ({ status, headers, body }: Reply): string =>
  JSON.stringify({
    status,
    type: headers['content-type'],
    location: headers.location,
    etag: headers.etag,
    body,
  })
