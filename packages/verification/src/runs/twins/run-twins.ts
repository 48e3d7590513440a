import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answered, ask, type Cut } from '../../harness/ask.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import { CuttingProxy } from './cutting-proxy.ts'

export interface DuplicatesOptions {
  readonly keys: number
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
  /** A host is killed after so many answers at most. */
  readonly killWithin?: number
  readonly onProgress?: (text: string) => void
}

export interface DuplicatesReport {
  readonly keys: number
  readonly requests: number
  /** Answers that a client got whole, apart from those to try again. */
  readonly acknowledged: number
  /** How often a host was killed, the client's connection cut, and a COMMIT's, by where. */
  readonly kills: number
  readonly cuts: Readonly<Record<string, number>>
  /** Answers that said to try again, by code. */
  readonly again: Readonly<Record<string, number>>
  /** What went wrong; empty where all is well. */
  readonly failures: readonly string[]
}

/** Keys that are worked on at once. */
const AT_ONCE = 16
const MOST_TWINS = 5
/** A key that has no answer after so many milliseconds is a failure. */
const PATIENCE = 120_000
/** The share of COMMITs on whose connection something happens. */
const CUT_COMMITS = 0.05
/** A run says what is wrong in so many lines at most. */
const FAILURES_TOLD = 50

/** One intended change, as all twins send it. */
interface Intent {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The one answer that is right. */
  readonly status: number
}

/**
 * Sends every request several times at once to hosts that are killed, over connections that are cut, until it is
 * answered: each must take effect once, and every answer to it be the same to the byte, then and at the end.
 */
export async function runDuplicates(options: DuplicatesOptions): Promise<DuplicatesReport> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-twins-'))
  const twins = new Twins(folder, options)
  try {
    return await twins.run()
  } finally {
    await twins.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

class Twins {
  readonly #options: DuplicatesOptions
  readonly #folder: string
  readonly #random: Random
  readonly #agent = new Agent({ keepAlive: true })
  readonly #schema: ReturnType<typeof ownSchema> | undefined
  readonly #proxies: CuttingProxy[] = []
  #hosts: HostGroup | undefined
  /** By key and route, what was acknowledged first. */
  readonly #answers: { readonly intent: Intent; readonly answer: string }[] = []
  readonly #cuts: Record<string, number> = {}
  readonly #again: Record<string, number> = {}
  readonly #failures: string[] = []
  /** Whether nothing is cut or killed any more. */
  #isCalm = false
  #requests = 0
  #acknowledged = 0
  #kills = 0
  /** Answers until a host is killed. */
  #untilKill: number
  #killing: Promise<void> | undefined

  constructor(folder: string, options: DuplicatesOptions) {
    this.#folder = folder
    this.#options = options
    this.#schema = options.database === undefined ? undefined : ownSchema(options.database)
    this.#random = new Random(options.seed)
    this.#untilKill = this.#answersUntilKill()
  }

  async run(): Promise<DuplicatesReport> {
    const { keys, seed, onProgress } = this.#options
    const hosts = await this.#start()
    const users = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => hosts.mintToken(`u${index}`)),
    )
    let next = 0
    const work = async () => {
      while (next < keys && this.#failures.length < FAILURES_TOLD) {
        const number = next++
        if (number > 0 && number % 1000 === 0)
          onProgress?.(`${number} keys, ${this.#failures.length} failures`)
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
    for (const { cuts } of this.#proxies) {
      for (const [moment, count] of Object.entries(cuts)) add(this.#cuts, `COMMIT, ${moment}`, count)
    }
    return {
      keys: next,
      requests: this.#requests,
      acknowledged: this.#acknowledged,
      kills: this.#kills,
      cuts: this.#cuts,
      again: this.#again,
      failures: this.#failures,
    }
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    await this.#hosts?.stop()
    for (const proxy of this.#proxies) proxy.close()
    await this.#schema?.drop()
  }

  /** One host on SQLite, or three on PostgreSQL, each with a way of its own to the database. */
  async #start(): Promise<HostGroup> {
    const databases: string[] = []
    for (const number of this.#schema === undefined ? [] : [1, 2, 3]) {
      const { url } = this.#schema as ReturnType<typeof ownSchema>
      const proxy = await CuttingProxy.start(url, new Random(this.#options.seed + number), CUT_COMMITS)
      this.#proxies.push(proxy)
      databases.push(proxy.wayTo(url))
    }
    this.#hosts = await HostGroup.start({
      folder: this.#folder,
      modules: ['@mortise/api-purchase'],
      databases,
    })
    // Not before: whoever cannot migrate has no module to ask.
    for (const proxy of this.#proxies) proxy.cutting = true
    return this.#hosts
  }

  async #killOne(): Promise<void> {
    this.#kills += 1
    try {
      await this.#anyHost(this.#random).killAndStart()
      this.#untilKill = this.#answersUntilKill()
    } catch (error) {
      this.#fail(`a host that was killed did not start again: ${error}`)
    }
  }

  #answersUntilKill(): number {
    return this.#random.between(20, this.#options.killWithin ?? 1000)
  }

  #anyHost(random: Random) {
    return (this.#hosts as HostGroup).any(random)
  }

  /** A purchase; of some, then its cancellation, or a change that the rules refuse. */
  async #tryKey(number: number, user: string, random: Random): Promise<void> {
    const headers = { authorization: `Bearer ${user}`, 'idempotency-key': `key-${number}` }
    const body = JSON.stringify({ items: [{ product: `product ${number}`, quantity: 1 }] })
    const made = await this.#send({ method: 'POST', path: '/purchase', headers, body, status: 201 }, random)
    if (made === undefined || random.chance(0.5)) return
    const [status, to] = random.chance(0.5) ? [200, 'cancelled'] : [409, 'pending']
    const path = `/purchase/${JSON.parse(made.body).id}`
    await this.#send({ method: 'PATCH', path, headers, body: JSON.stringify({ status: to }), status }, random)
  }

  /** Sends it by 1 to 5 twins at once; the first goes on until it has an answer, others may give up. */
  async #send(intent: Intent, random: Random): Promise<Answered | undefined> {
    const twins = Array.from({ length: random.between(1, MOST_TWINS) }, (_, index) =>
      this.#twin(intent, new Random(random.between(0, 2 ** 31)), index === 0),
    )
    const answers = (await Promise.all(twins)).filter((answer) => answer !== undefined)
    const name = `${intent.method} ${intent.path} with ${intent.headers['idempotency-key']}`
    const [first] = answers
    if (first === undefined) {
      this.#fail(`${name} had no answer within ${PATIENCE / 1000} s`)
      return undefined
    }
    if (first.status !== intent.status) {
      this.#fail(`${name} was answered ${first.status} instead of ${intent.status}: ${first.body}`)
    }
    const different = new Set(answers.map(lasting))
    if (different.size > 1) this.#fail(`${name} has several answers:\n${[...different].join('\n')}`)
    const originals = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)
    if (originals.length > 1) this.#fail(`${name} was done ${originals.length} times, by its answers`)
    this.#answers.push({ intent, answer: lasting(first) })
    return first
  }

  async #twin(intent: Intent, random: Random, persists: boolean): Promise<Answered | undefined> {
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(random.between(1, 40))) {
      const cut = random.weighted<Cut>([
        [6, undefined],
        [1, 'amid the request'],
        [2, 'before the answer'],
        [1, 'amid the answer'],
      ])
      const answer = await this.#ask(intent, random, this.#isCalm ? undefined : cut)
      if (answer !== undefined) return answer
      if (!persists && random.chance(0.3)) return undefined
    }
    return undefined
  }

  /** Asks any of the hosts. Undefined for an answer that did not arrive, or that says to try again. */
  async #ask(intent: Intent, random: Random, cut?: Cut): Promise<Answered | undefined> {
    const host = this.#anyHost(random)
    this.#requests += 1
    if (cut) add(this.#cuts, cut, 1)
    let answer: Answered
    try {
      answer = await ask(this.#agent, { ...intent, url: host.url + intent.path }, cut)
    } catch (error) {
      // It is starting.
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await pause(100)
      return undefined
    }
    const { code } = JSON.parse(answer.body)
    if (answer.status >= 500 || code === 'idempotency-running') {
      add(this.#again, code, 1)
      if (code === 'internal-error') this.#fail(`${intent.method} ${intent.path}: ${answer.body}`)
      return undefined
    }
    this.#acknowledged += 1
    if (--this.#untilKill === 0) this.#killing = this.#killOne()
    return answer
  }

  /** Every answer is still the one that was given first, whichever host is asked. */
  async #repeatAll(): Promise<void> {
    const left = this.#answers.values()
    const work = async () => {
      for (const { intent, answer } of left) {
        const again = await this.#twin(intent, this.#random, true)
        if (
          again === undefined ||
          lasting(again) !== answer ||
          again.headers['idempotent-replayed'] !== 'true'
        ) {
          const got = again && `${lasting(again)}, replayed: ${again.headers['idempotent-replayed']}`
          this.#fail(
            `${intent.method} ${intent.path} was answered with\n${answer}\nand at the end with\n${got}`,
          )
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /** As many purchases as keys, each of which has been acknowledged by an id of its own: so each key has one. */
  async #count(reader: string): Promise<void> {
    const created = this.#answers.filter(({ intent }) => intent.method === 'POST')
    const ids = new Set(created.map(({ answer }) => JSON.parse(answer).location))
    if (ids.size !== created.length) this.#fail(`${created.length} keys have made ${ids.size} purchases`)
    const { body } = await ask(this.#agent, {
      url: `${this.#anyHost(this.#random).url}/purchase?owner=*&rpp=1`,
      method: 'GET',
      headers: { authorization: `Bearer ${reader}` },
    })
    const { total } = JSON.parse(body)
    if (total !== created.length) this.#fail(`there are ${total} purchases of ${created.length} keys`)
  }

  #fail(text: string): void {
    if (this.#failures.length >= FAILURES_TOLD) return
    this.#failures.push(text)
    this.#options.onProgress?.(`failed: ${text}`)
  }
}

/** What has to be the same each time, to the byte. */
const lasting = ({ status, headers, body }: Answered): string =>
  JSON.stringify({
    status,
    type: headers['content-type'],
    location: headers.location,
    etag: headers.etag,
    body,
  })

function add(counts: Record<string, number>, name: string, count: number): void {
  counts[name] = (counts[name] ?? 0) + count
}
