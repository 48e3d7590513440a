import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApplicationState, callRunningHost, configFile, readLockFile } from '@mortise/host'
import { type Ended, Host, runApp } from '../../harness/app-command.ts'
import type { Sample } from '../../harness/figures.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Client, get, stateOf } from './client.ts'
import { Connection } from './connection.ts'
import { growth } from './growth.ts'
import { writeSteadyModule } from './soak-modules.ts'
import { type Step, Steps } from './steps.ts'
import { type Allowed, Timeline } from './timeline.ts'

export interface SoakOptions {
  readonly steps: number
  readonly clients: number
  readonly seed: number
  /** Ends the run after the current step. */
  readonly signal?: AbortSignal
  /** Called with the progress and each failure. */
  readonly onProgress?: (text: string) => void
}

/** The changing modules; `steady` is under load. */
const changing = ['alpha', 'beta']

/** The exit code of a command during another command. */
const BUSY = 6

/** The latest kill of a command, in milliseconds: before, during or after its work. */
const KILL_AFTER = [300, 3000] as const

/** Steps between two samples. */
const INTERVAL = 20

/** The largest number of reported failures. */
const MOST_FAILURES = 50

/**
 * Runs the real host under load while the real command changes it and is sometimes killed. Checks
 * every response against the modules of its time. Failures are reported, not thrown.
 */
export async function runSoak(options: SoakOptions): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-soak-'))
  const soak = new Soak(folder, options)
  try {
    return await soak.run()
  } finally {
    await soak.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

class Soak {
  readonly #options: SoakOptions
  readonly #folder: string
  readonly #directory: string
  readonly #random: Random
  readonly #steps: Steps
  readonly #failures: string[] = []
  readonly #outcomes: Record<string, number> = {}
  readonly #samples: Sample[] = []
  #clients: Client[] = []
  #host: Host | undefined
  #connection: Connection | undefined

  constructor(folder: string, options: SoakOptions) {
    this.#folder = folder
    this.#directory = join(folder, 'application')
    this.#options = options
    this.#random = new Random(options.seed)
    this.#steps = new Steps(folder, changing, this.#random)
  }

  async run(): Promise<Outcome> {
    await mkdir(this.#directory)
    for (const argv of [
      ['init'],
      ['module-install', await writeSteadyModule(join(this.#folder, 'steady'))],
    ]) {
      const { exitCode, said } = await runApp(this.#directory, argv)
      if (exitCode !== 0) throw new Error(`"app ${argv[0]}" ended with ${exitCode}: ${said}`)
    }
    const host = await Host.start(this.#directory)
    this.#host = host
    const timeline = new Timeline(exactly(await this.#served()), (text) => this.#fail(text))
    this.#clients = Array.from(
      { length: this.#options.clients },
      (_, number) =>
        new Client({
          port: host.port,
          number,
          random: new Random(this.#options.seed * 1000 + number),
          timeline,
          changing,
          onFailure: (text) => this.#fail(text),
        }),
    )
    for (const client of this.#clients) client.start()
    const { steps, signal } = this.#options
    for (let step = 1, isLast = false; !isLast; step++) {
      await this.#step(step, timeline)
      isLast = step === steps || host.hasEnded || signal?.aborted === true
      if (step % INTERVAL === 0 || isLast) await this.#sample(step)
    }
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first && last) for (const text of growth(first, last)) this.#fail(text)
    await this.#finish()
    const written = this.#clients.reduce((sum, { acknowledged }) => sum + acknowledged.entries, 0)
    const changes = Object.entries(this.#outcomes).map(([kind, count]) => [`changes ${kind}`, count] as const)
    const figures = {
      requests: this.#requests,
      'writes acknowledged': written,
      ...Object.fromEntries(changes),
    }
    return { figures, failures: this.#failures }
  }

  /** Ends all processes and connections in any state. */
  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    this.#connection?.close()
    await this.#host?.stop()
  }

  get #requests(): number {
    return this.#clients.reduce((sum, { requests }) => sum + requests, 0)
  }

  #fail(text: string): void {
    if (this.#failures.length === MOST_FAILURES) return
    this.#failures.push(text)
    this.#options.onProgress?.(`failed: ${text}`)
  }

  /** Runs one command, two at once, or one that is killed. Then the routes must match the lock file. */
  async #step(number: number, timeline: Timeline): Promise<void> {
    const lock = await readLockFile(this.#directory)
    const before = await this.#served()
    const step = number % 4 === 3 ? await this.#steps.faulty(lock) : await this.#steps.next(lock)
    timeline.change()
    let during: ReadonlyMap<string, Allowed> | undefined
    if (number % 6 === 0) {
      await this.#kill(step)
      during = betweenKilled(step, before)
    } else if (number % 8 === 0) {
      const both = await this.#two(number, step, await this.#steps.next(lock, step.module))
      if (both) during = betweenTwo(before, await this.#served())
    } else await this.#one(number, step)
    await this.#compareWithLock(number, step)
    const after = await this.#served()
    timeline.settle(during ?? either(before, after), exactly(after))
  }

  async #one(number: number, step: Step): Promise<void> {
    const outcome = await runApp(this.#directory, step.argv)
    this.#expect(number, step, outcome, [step.exitCode])
    this.#count({ 0: 'done', 4: 'refused', 5: 'reverted' }[outcome.exitCode ?? -1] ?? 'failed')
  }

  /** @returns whether both ran, one after the other */
  async #two(number: number, ...steps: readonly [Step, Step]): Promise<boolean> {
    const outcomes = await Promise.all(
      steps.map(async (step) => {
        const outcome = await runApp(this.#directory, step.argv)
        this.#expect(number, step, outcome, [step.exitCode, BUSY])
        return outcome
      }),
    )
    if (outcomes.every(({ exitCode }) => exitCode === BUSY)) {
      this.#fail(`step ${number}: both of two concurrent commands were refused as busy`)
    }
    this.#count('two at once')
    return outcomes.every(({ exitCode }) => exitCode === 0)
  }

  /** Kills a command at a random moment; the next one completes or reverts its change. */
  async #kill({ argv }: Step): Promise<void> {
    const { exitCode } = await runApp(this.#directory, argv, this.#random.between(...KILL_AFTER))
    await this.#must(this.#random.chance(0.5) ? ['doctor', '--fix'] : ['module-install'])
    this.#count(exitCode === undefined ? 'killed' : 'ended before the kill')
  }

  #count(outcome: string): void {
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1
  }

  #expect(number: number, { argv }: Step, { exitCode, said }: Ended, allowed: readonly number[]): void {
    if (exitCode !== undefined && allowed.includes(exitCode)) return
    this.#fail(
      `step ${number}: "app ${argv.join(' ')}" ended with ${exitCode}, not ${allowed.join(' or ')}: ${said}`,
    )
  }

  /** The routes must match the installed modules and their settings. */
  async #compareWithLock(number: number, { argv }: Step): Promise<void> {
    const { modules, generation } = await readLockFile(this.#directory)
    const config = JSON.parse(await readFile(configFile(this.#directory), 'utf8'))
    const served = await this.#served()
    for (const id of changing) {
      const locked = modules[id]
      const wanted = locked?.enabled ? `${locked.version}, mark ${config.modules?.[id]?.mark ?? 0}` : '404'
      if (served.get(id) !== wanted) {
        this.#fail(
          `step ${number}: after "app ${argv.join(' ')}" ${id} should be "${wanted}" by the lock, and is "${served.get(id)}"`,
        )
      }
    }
    const state = await this.#state()
    if (state?.generation !== generation) {
      this.#fail(
        `step ${number}: the host serves generation ${state?.generation}, and the lock has ${generation}`,
      )
    }
  }

  /** The serving modules, read on an idle connection. */
  async #served(): Promise<Served> {
    const { port } = this.#host as Host
    const connection = await Connection.open(port, this.#connection)
    this.#connection = connection
    const ask = (path: string) => {
      const response = connection.nextReply()
      connection.send(get(path))
      return response
    }
    const steady = await ask('/steady')
    if (steady.status !== 200) throw new Error(`steady returns ${steady.status}: ${steady.body}`)
    const served = new Map([['steady', String(JSON.parse(steady.body).instance)]])
    for (const id of changing) served.set(id, stateOf(await ask(`/${id}`)))
    return served
  }

  async #state(): Promise<ApplicationState | undefined> {
    return await callRunningHost(this.#directory, 'state')
  }

  /** Without load, so that only lasting objects count. */
  async #sample(step: number): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.pause()))
    await callRunningHost(this.#directory, 'retired')
    const state = await this.#state()
    if (this.#host === undefined || state === undefined) return this.#fail(`step ${step}: the host is gone`)
    const figures = await this.#host.figures()
    const sample = { step, packages: state.loadedPackages, ...figures }
    this.#samples.push(sample)
    this.#options.onProgress?.(
      `step ${step}: ${state.switches} switches, ${state.loadedPackages} packages, ${this.#requests} requests, ` +
        `${this.#failures.length} failed; heap ${(figures.heap / 1e6).toFixed(1)} MB, ${figures.instances} instances`,
    )
    for (const client of this.#clients) client.start()
  }

  /** Each acknowledged write exists once, also after a restart. */
  async #finish(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    await this.#compareSums('at the end')
    await this.#must(['doctor'])
    this.#connection?.close()
    const ended = await this.#host?.stop()
    if (ended !== 0) this.#fail(`the host ended with ${ended} when it was asked to stop`)
    this.#host = await Host.start(this.#directory)
    await this.#compareSums('after a restart')
  }

  async #compareSums(when: string): Promise<void> {
    const { port } = this.#host as Host
    const connection = await Connection.open(port)
    const responded = connection.nextReply()
    connection.send(get('/steady/sums'))
    const found = (await responded).body
    connection.close()
    const wanted = JSON.stringify(
      this.#clients.map(({ acknowledged }) => acknowledged).filter(({ entries }) => entries > 0),
    )
    if (found !== wanted) this.#fail(`${when} the sums are ${found}, acknowledged were ${wanted}`)
  }

  async #must(argv: readonly string[]): Promise<void> {
    const { exitCode, said } = await runApp(this.#directory, argv)
    if (exitCode !== 0) this.#fail(`"app ${argv.join(' ')}" ended with ${exitCode}: ${said}`)
  }
}

/** The valid states during a killed command and its completion or revert. */
function betweenKilled({ argv, module }: Step, before: Served): ReadonlyMap<string, Allowed> {
  const isRollback = argv[0] === 'module-rollback'
  const least = Number(before.get('steady'))
  return new Map<string, Allowed>(
    [...before].map(([subject, state]) => [
      subject,
      subject === 'steady'
        ? (seen) => Number(seen) >= least
        : (seen) => seen === state || subject === module || isRollback,
    ]),
  )
}

/** The valid states during two concurrent commands in unknown order. */
function betweenTwo(before: Served, after: Served): ReadonlyMap<string, Allowed> {
  const [least, most] = [before, after].map((served) => Number(served.get('steady'))) as [number, number]
  return new Map<string, Allowed>(
    [...before.keys()].map((subject) => [
      subject,
      (seen) => subject !== 'steady' || (Number(seen) >= least && Number(seen) <= most),
    ]),
  )
}

/** The response of each module. */
type Served = ReadonlyMap<string, string>

const exactly = (served: Served): ReadonlyMap<string, Allowed> => either(served, served)

const either = (before: Served, after: Served): ReadonlyMap<string, Allowed> =>
  new Map<string, Allowed>(
    [...before].map(([subject, state]) => [subject, (seen) => seen === state || seen === after.get(subject)]),
  )
