import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, mintToken } from '@mortise/host'
import { Host, runApp } from '../../harness/app-command.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Acknowledged } from './acknowledged.ts'
import { prepareChanges } from './changes.ts'
import { type Balancer, startNginx } from './nginx.ts'
import { Shopper } from './shopper.ts'

export interface BalanceOptions {
  readonly folder: string
  /** The URL of an empty schema, or of one from an earlier run. */
  readonly database: string
  readonly hosts: number
  /** The processes of each host; undefined: one. */
  readonly workers: number | undefined
  /** At most so many times one host replaces its workers. */
  readonly restarts: number
  readonly clients: number
  readonly seed: number
  /** Put nginx in front. Otherwise the clients use the hosts in turn. */
  readonly nginx: boolean
  /** Ends the run after the current command. */
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

/** The number of shoppers per shared cart. Half of the shoppers share carts. */
const SHARING = 4
/** The most failures to report in a run. */
const MOST_FAILURES = 50

/**
 * Several hosts, each with its own folder, on one PostgreSQL. Shoppers use them in turn while a
 * third module is changed on each, and after each change one of them replaces its workers. No request
 * may fail. At the end, carts and purchases must be
 * exactly the acknowledged ones.
 */
export async function runBalance(options: BalanceOptions): Promise<Outcome> {
  const run = new Balance(options)
  try {
    return await run.run()
  } finally {
    await run.stop()
  }
}

class Balance {
  readonly #options: BalanceOptions
  readonly #failures: string[] = []
  readonly #directories: string[] = []
  #restarts = 0
  #hosts: readonly Host[] = []
  #shoppers: readonly Shopper[] = []
  #balancer: Balancer | undefined

  constructor(options: BalanceOptions) {
    this.#options = options
  }

  async run(): Promise<Outcome> {
    const application = await this.#prepare()
    const target = await this.#serve()
    const callers = await this.#callers(this.#options.clients, application)
    this.#shoppers = callers.map(
      ({ token, acknowledged }, number) =>
        new Shopper({
          target,
          token,
          acknowledged,
          random: new Random(this.#options.seed * 1000 + number),
          onFailure: (text) => this.#fail(text),
        }),
    )
    for (const shopper of this.#shoppers) shopper.start()
    const changes = await this.#change()
    await Promise.all(this.#shoppers.map((shopper) => shopper.stop()))
    const requests = this.#shoppers.reduce((sum, shopper) => sum + shopper.requests, 0)
    const busy = this.#shoppers.reduce((sum, shopper) => sum + shopper.busy, 0)
    const purchases = await this.#compare(callers)
    const figures = {
      requests,
      'asked to try again': busy,
      changes,
      'rolling restarts': this.#restarts,
      purchases,
    }
    return outcome(figures, this.#failures, ['changes', 'purchases'])
  }

  async stop(): Promise<void> {
    await Promise.all(this.#shoppers.map((shopper) => shopper.stop()))
    await this.#balancer?.stop()
    await Promise.all(this.#hosts.map((host) => host.stop()))
  }

  #fail(text: string): void {
    if (this.#failures.length === MOST_FAILURES) return
    this.#failures.push(text)
    this.#options.onProgress(`failed: ${text}`)
  }

  /** One application and a copy for each host, like a rollout to several machines. */
  async #prepare() {
    const first = join(this.#options.folder, 'host-1')
    const application = await prepareApplication(first, ['@mortise/api-cart', '@mortise/api-purchase'])
    const config = JSON.parse(await readFile(configFile(first), 'utf8'))
    await writeFile(configFile(first), JSON.stringify({ ...config, database: this.#options.database }))
    for (let number = 1; number <= this.#options.hosts; number++) {
      const directory = join(this.#options.folder, `host-${number}`)
      if (number > 1) await cp(first, directory, { recursive: true })
      this.#directories.push(directory)
    }
    return application
  }

  /** @returns a function that chooses the host of each request */
  async #serve(): Promise<() => string> {
    this.#hosts = await Promise.all(
      this.#directories.map((directory) => Host.start(directory, this.#options.workers)),
    )
    const ports = this.#hosts.map(({ port }) => port)
    if (this.#options.nginx) {
      this.#balancer = await startNginx(join(this.#options.folder, 'nginx'), ports)
      const { url } = this.#balancer
      return () => url
    }
    let turn = 0
    return () => `http://127.0.0.1:${ports[turn++ % ports.length]}`
  }

  /** One caller per client; in one half, several clients share a caller. */
  async #callers(clients: number, { issuer, secret }: { issuer: string; secret: string }) {
    const make = async (number: number) => {
      const subject = `shopper-${this.#options.seed}-${Date.now()}-${number}`
      const token = await mintToken({ issuer, secret: Buffer.from(secret), subject, expiresIn: '1d' })
      return { token, acknowledged: new Acknowledged() }
    }
    const known = new Map<number, ReturnType<typeof make>>()
    return await Promise.all(
      Array.from({ length: clients }, (_, client) => {
        const number = client < clients / 2 ? Math.floor(client / SHARING) : client
        const caller = known.get(number) ?? make(number)
        known.set(number, caller)
        return caller
      }),
    )
  }

  /**
   * Runs the life of a third module on one host after the other.
   * @returns the number of commands
   */
  async #change(): Promise<number> {
    let done = 0
    for (const argv of await prepareChanges(this.#options.folder)) {
      for (const directory of this.#directories) {
        if (this.#options.signal.aborted) return done
        await this.#app(directory, argv)
        done += 1
      }
      if (this.#options.workers === undefined || this.#restarts >= this.#options.restarts) continue
      await this.#app(this.#directories[this.#restarts % this.#directories.length] as string, ['restart'])
      this.#restarts += 1
    }
    return done
  }

  async #app(directory: string, argv: readonly string[]): Promise<void> {
    const { exitCode, said } = await runApp(directory, argv)
    if (exitCode !== 0) this.#fail(`"app ${argv.join(' ')}" ended with ${exitCode}: ${said}`)
  }

  /** @returns the number of purchases */
  async #compare(callers: readonly { readonly acknowledged: Acknowledged }[]): Promise<number> {
    let purchases = 0
    const seen = new Set<Acknowledged>()
    for (const [number, { acknowledged }] of callers.entries()) {
      if (seen.has(acknowledged)) continue
      seen.add(acknowledged)
      const shopper = this.#shoppers[number] as Shopper
      const ids = await shopper.purchases()
      const wrong = [...acknowledged.compareCart(await shopper.cart()), ...acknowledged.comparePurchases(ids)]
      for (const text of wrong) this.#fail(`client ${number}: ${text}`)
      purchases += ids.length
    }
    return purchases
  }
}
