import { setTimeout as pause } from 'node:timers/promises'
import { startProxy } from '../../../../storage/test/postgres/proxy.ts'
import { type Asked, type Caller, type Cut, isUndecided, type Reply } from '../../harness/caller.ts'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { Kills } from '../../harness/kills.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'

const KEYS = 100
/** A host is killed after this many responses. */
const KILL_AFTER = [20, 150] as const
/** Concurrent keys. */
const AT_ONCE = 16
const MOST_DUPLICATES = 5
/** The time limit for the response to a key, in milliseconds. */
const PATIENCE = 120_000
/** The longest time between two COMMITs whose connection is cut, in milliseconds. */
const CUT_EVERY = 250

/** One intended change, as all duplicates send it. */
interface Intent extends Asked {
  readonly name: string
  /** The expected status. */
  readonly status: number
}

export const duplicates = defineRun({
  promise:
    'A request that is repeated with its Idempotency-Key takes effect once, and every response to it is the same, byte for byte.',
  needed: ['hosts killed', 'connections cut'],
  engines: onBothEngines,
  async round(round) {
    const cuts = await startProxies(round)
    const modules = ['@mortise/api-purchase']
    const hosts = await HostGroup.start(round, {
      modules,
      ...(cuts.urls.length > 0 && { databases: cuts.urls }),
    })
    await new Duplicates(round, hosts, cuts).run()
  },
})

interface Cuts {
  readonly urls: readonly string[]
  cutOne(): void
  /** No cut that has not happened yet. */
  repair(): Promise<unknown>
}

/** Ways to the database that are cut at a COMMIT, before the server has it or after; one for each host. */
async function startProxies(round: Round): Promise<Cuts> {
  const { database, random } = round
  if (database === undefined) return { urls: [], cutOne: () => {}, repair: async () => {} }
  const proxies = await Promise.all([1, 2, 3].map(() => startProxy(round, database)))
  return {
    urls: proxies.map(({ url }) => url),
    cutOne() {
      random.oneOf(proxies).cutAt('COMMIT', random.chance(0.2) ? 'undelivered' : 'delivered')
      round.count('COMMITs to cut')
    },
    repair: () => Promise.all(proxies.map((proxy) => proxy.repair())),
  }
}

/**
 * Sends duplicates of each request to hosts that are killed, over connections that are cut, until it
 * gets a response. Each request must take effect once, and all its responses must be the same bytes.
 */
class Duplicates {
  readonly #round: Round
  readonly #hosts: HostGroup
  readonly #cuts: Cuts
  readonly #kills: Kills
  /** The first response by key and route. */
  readonly #responses: { readonly caller: Caller; readonly intent: Intent; readonly response: string }[] = []
  /** Cuts and kills have ended. */
  #isCalm = false

  constructor(round: Round, hosts: HostGroup, cuts: Cuts) {
    this.#round = round
    this.#hosts = hosts
    this.#cuts = cuts
    this.#kills = new Kills(hosts, round, KILL_AFTER)
  }

  async run(): Promise<void> {
    const { random, seed } = this.#round
    const cutting = this.#cutCommits()
    await atOnce(Array.from({ length: KEYS }, (_, key) => key).values(), async (number) => {
      const own = new Random(seed * 1_000_003 + number)
      const user = await this.#hosts.user(`u${number % AT_ONCE}`, own)
      await this.#tryKey(number, user, own)
    })
    this.#isCalm = true
    await this.#kills.end()
    await cutting
    await atOnce(this.#responses.values(), async ({ caller, intent, response }) => {
      const again = await this.#sendUntilResponse(caller, intent, random, true)
      if (again === undefined || lasting(again) !== response || !again.isReplay)
        this.#round.fail(`${intent.name} got\n${response}\nand at the end ${again && lasting(again)}`)
    })
    const created = this.#responses.filter(({ intent }) => intent.method === 'POST')
    const ids = new Set(created.map(({ response }) => JSON.parse(response).location))
    const reader = await this.#hosts.user('reader', random, 'purchase:read')
    const { total } = (await reader.get('/purchase?owner=*&rpp=1')).json
    if (ids.size !== created.length || total !== created.length)
      this.#round.fail(`${created.length} keys have ${ids.size} locations and ${total} purchases`)
    this.#round.count('keys', KEYS)
  }

  async #cutCommits(): Promise<void> {
    while (!this.#isCalm) {
      // A host that cannot migrate does not start.
      if (this.#kills.isStarting) await this.#cuts.repair()
      else this.#cuts.cutOne()
      await pause(this.#round.random.between(0, CUT_EVERY))
    }
    await this.#cuts.repair()
  }

  /** Sends a purchase, and for some a cancellation or an illegal change. */
  async #tryKey(number: number, caller: Caller, random: Random): Promise<void> {
    const headers = { 'idempotency-key': `key-${number}` }
    const intend = (method: 'POST' | 'PATCH', path: string, body: object, status: number): Intent => ({
      ...{ method, path, headers, body, status, name: `${method} ${path} with key-${number}` },
    })
    const items = [{ product: `product ${number}`, quantity: 1 }]
    const made = await this.#send(caller, intend('POST', '/purchase', { items }, 201), random)
    if (made === undefined || random.chance(0.5)) return
    const [status, to] = random.chance(0.5) ? [200, 'cancelled'] : [409, 'pending']
    const path = `/purchase/${made.json.id}`
    await this.#send(caller, intend('PATCH', path, { status: to }, status), random)
  }

  /** Sends 1 to 5 duplicates at once. The first repeats until it gets a response, the others may stop. */
  async #send(caller: Caller, intent: Intent, random: Random): Promise<Reply | undefined> {
    const sent = Array.from({ length: random.between(1, MOST_DUPLICATES) }, (_, index) =>
      this.#sendUntilResponse(caller, intent, new Random(random.between(0, 2 ** 31)), index === 0),
    )
    const responses = (await Promise.all(sent)).filter((response) => response !== undefined)
    const { name, status } = intent
    const [first] = responses
    if (first === undefined) {
      this.#round.fail(`${name} had no response within ${PATIENCE / 1000} s`)
      return undefined
    }
    if (first.status !== status)
      this.#round.fail(`${name} got ${first.status} instead of ${status}: ${first.text}`)
    const different = new Set(responses.map(lasting))
    if (different.size > 1) this.#round.fail(`${name} has several responses:\n${[...different].join('\n')}`)
    const originals = responses.filter(({ isReplay }) => !isReplay)
    if (originals.length > 1)
      this.#round.fail(`${name} took effect ${originals.length} times, by its responses`)
    this.#responses.push({ caller, intent, response: lasting(first) })
    return first
  }

  async #sendUntilResponse(
    caller: Caller,
    intent: Intent,
    random: Random,
    persists: boolean,
  ): Promise<Reply | undefined> {
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(random.between(1, 40))) {
      const cut = random.weighted<Cut>([
        [6, undefined],
        [1, 'during the request'],
        [2, 'before the response'],
        [1, 'during the response'],
      ])
      const response = await this.#ask(caller, intent, this.#isCalm ? undefined : cut)
      if (response !== undefined) return response
      if (!persists && random.chance(0.3)) return undefined
    }
    return undefined
  }

  /** Undefined for a missing response, or one that asks for a retry. */
  async #ask(caller: Caller, intent: Intent, cut?: Cut): Promise<Reply | undefined> {
    this.#round.count('requests')
    if (cut) this.#round.count('connections cut')
    const response = await caller.send(intent, cut).catch(async ({ code }: NodeJS.ErrnoException) => {
      // It is starting.
      if (code === 'ECONNREFUSED') await pause(100)
    })
    if (!response || isUndecided(response)) {
      if (response?.code === 'internal-error') this.#round.fail(`${intent.name}: ${response.text}`)
      return undefined
    }
    this.#round.count('responses compared')
    this.#kills.responded()
    return response
  }
}

async function atOnce<Each>(all: IterableIterator<Each>, work: (each: Each) => Promise<void>): Promise<void> {
  const workAll = async () => {
    for (const each of all) await work(each)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, workAll))
}

/** The part of the response that must be the same bytes each time. */
const lasting = ({ status, headers, text }: Reply): string =>
  JSON.stringify({
    ...{ status, type: headers['content-type'], location: headers.location, etag: headers.etag, text },
  })
