import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { type ApplicationState, callRunningHost } from '@mortise/host'
import { type App, type Ended, mustRun, runApp, startHost } from '../../harness/app.ts'
import { Caller } from '../../harness/caller.ts'
import { defineRun } from '../../harness/define-run.ts'
import {
  type Change,
  ModuleChanges,
  type ModuleState,
  moduleIn,
  servedIn,
  servedOf,
} from '../../harness/module-changes.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'
import { Client } from './client.ts'
import { growth, type Sample } from './growth.ts'
import { writeSteadyModule } from './steady-module.ts'
import { type Allowed, either, exactly, type Served, Timeline } from './timeline.ts'

/** Long enough for a step of every kind. */
const SLICE = 8
/** The changing modules; `steady` is under load. */
const changing = ['alpha', 'beta']
/** The exit code of a command during another command. */
const BUSY = 6
/** The latest kill of a command, in milliseconds: before, during or after its work. */
const KILL_AFTER = [300, 3000] as const
/** Steps between two samples. */
const INTERVAL = 20

/** Every kind of fault, with the exit code of its command. */
const faults = [
  ['fails its self-check', 5],
  ['throws', 4],
  ['bad migration', 4],
] as const

/** A command, with its exit code without interference. */
interface Step extends Change {
  readonly exitCode: number
}

/**
 * Runs the real host under load while the real command changes it and is sometimes killed. Checks
 * every response against the modules of its time.
 */
export const soak = defineRun({
  promise:
    'No request fails and no write is lost while modules are installed, upgraded, rolled back and removed, commands are killed, and memory stays flat.',
  needed: ['writes acknowledged', 'changes done'],
  // In a slice a command may end before it is killed.
  neededInTime: ['changes killed'],
  async round(round) {
    const directory = join(round.folder, 'application')
    const steady = await writeSteadyModule(join(round.folder, 'steady'))
    await mustRun(directory, [['init'], ['module-install', '--yes', steady]])
    const host = await startHost(directory, { measures: true })
    const soak = new Soak(round, directory, host)
    round.teardown(() => soak.stop())
    await soak.begin()
    for (let step = 1, isLast = false; !isLast; step++) {
      await soak.step(step)
      isLast = (round.isSlice ? step === SLICE : round.isOver) || host.hasEnded || round.signal.aborted
      if (step % INTERVAL === 0 || isLast) await soak.sample(step)
    }
    await soak.finish()
  },
})

class Soak {
  readonly #round: Round
  readonly #directory: string
  readonly #changes: ModuleChanges
  /** Reads beside the clients. */
  readonly #reader: Caller
  readonly #samples: Sample[] = []
  #clients: Client[] = []
  #canRollBack = false
  #host: App
  #timeline: Timeline | undefined

  constructor(round: Round, directory: string, host: App) {
    this.#round = round
    this.#directory = directory
    this.#host = host
    this.#changes = new ModuleChanges(round.folder, round.random)
    this.#reader = new Caller(round.agent, () => this.#host.url)
  }

  async begin(): Promise<void> {
    const { seed, isSlice } = this.#round
    const onFailure = (text: string) => this.#round.fail(text)
    const timeline = new Timeline(exactly(await this.#served()), onFailure)
    this.#timeline = timeline
    this.#clients = Array.from({ length: isSlice ? 8 : 32 }, (_, number) => {
      const random = new Random(seed * 1000 + number)
      return new Client({ url: this.#host.url, number, random, timeline, changing, onFailure })
    })
    for (const client of this.#clients) client.start()
  }

  /** Ends all processes and connections in any state. */
  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.pause()))
    await this.#host.stop()
  }

  /** Runs one command, two at once, or one that is killed. Then the routes must match the lock file. */
  async step(number: number): Promise<void> {
    const timeline = this.#timeline as Timeline
    const before = await this.#served()
    const step = number % 4 === 3 ? await this.#faulty(number) : await this.#next()
    timeline.change()
    let during: ReadonlyMap<string, Allowed> | undefined
    if (number % 6 === 0) {
      await this.#kill(step)
      during = betweenKilled(step, before)
    } else if (number % 8 === 0) {
      const both = await this.#two(number, step, await this.#next(step.module))
      if (both) during = betweenTwo(before, await this.#served())
    } else await this.#one(number, step)
    await this.#compareWithLock(number, step)
    const after = await this.#served()
    timeline.settle(during ?? either(before, after), exactly(after))
  }

  /** @param except a module that is being changed already */
  async #next(except?: string): Promise<Step> {
    const { random } = this.#round
    const module = random.oneOf(changing.filter((id) => id !== except))
    const states = await Promise.all(changing.map((id) => moduleIn(this.#directory, id)))
    // Before a module of these was installed, a rollback would remove the one under load.
    this.#canRollBack ||= states.some(({ version }) => version !== undefined)
    const change = await this.#changes.next(module, states[changing.indexOf(module)] as ModuleState)
    const isRollback = this.#canRollBack && random.chance(0.1)
    return { ...change, argv: isRollback ? ['module-rollback'] : change.argv, exitCode: 0 }
  }

  /** The installation of a version with a fault, each kind in its turn; it must be refused or reverted. */
  async #faulty(number: number): Promise<Step> {
    const { random } = this.#round
    const module = random.oneOf(changing)
    const state = await moduleIn(this.#directory, module)
    // The host does not look at the code of what is switched off.
    if (!state.isEnabled) return this.#next()
    const [fault, exitCode] = faults[Math.floor(number / 4) % faults.length] as (typeof faults)[number]
    return { ...(await this.#changes.install(module, state, fault)), exitCode }
  }

  async #one(number: number, step: Step): Promise<void> {
    const ended = await runApp(this.#directory, step.argv)
    this.#expect(number, step, ended, [step.exitCode])
    const how = { 0: 'done', 4: 'refused', 5: 'reverted' }[ended.exitCode ?? -1] ?? 'failed'
    this.#round.count(`changes ${how}`)
  }

  /** @returns whether both ran, one after the other */
  async #two(number: number, ...steps: readonly [Step, Step]): Promise<boolean> {
    const ends = await Promise.all(steps.map(({ argv }) => runApp(this.#directory, argv)))
    for (const [index, step] of steps.entries())
      this.#expect(number, step, ends[index] as Ended, [step.exitCode, BUSY])
    if (ends.every(({ exitCode }) => exitCode === BUSY))
      this.#round.fail(`step ${number}: both of two concurrent commands were refused as busy`)
    this.#round.count('changes two at once')
    return ends.every(({ exitCode }) => exitCode === 0)
  }

  /** Kills a command at a random moment; the next one completes or reverts its change. */
  async #kill({ argv }: Step): Promise<void> {
    const { random } = this.#round
    const { exitCode } = await runApp(this.#directory, argv, { killAfter: random.between(...KILL_AFTER) })
    await this.#must(random.chance(0.5) ? ['doctor', '--fix'] : ['module-install'])
    this.#round.count(exitCode === undefined ? 'changes killed' : 'changes ended before the kill')
  }

  #expect(number: number, { argv }: Step, { exitCode, said }: Ended, allowed: readonly number[]): void {
    if (exitCode !== undefined && allowed.includes(exitCode)) return
    this.#round.fail(
      `step ${number}: "app ${argv.join(' ')}" ended with ${exitCode}, not ${allowed.join(' or ')}: ${said}`,
    )
  }

  /** The routes must match the installed modules and their settings. */
  async #compareWithLock(number: number, { argv }: Step): Promise<void> {
    const served = await this.#served()
    for (const id of changing) {
      const wanted = servedOf(await moduleIn(this.#directory, id))
      if (served.get(id) !== wanted)
        this.#round.fail(
          `step ${number}: after "app ${argv.join(' ')}" ${id} should be "${wanted}" by the lock, and is "${served.get(id)}"`,
        )
    }
    const { generation } = await readLockFile(this.#directory)
    const serving = (await this.#state())?.generation
    if (serving !== generation)
      this.#round.fail(
        `step ${number}: the host serves generation ${serving}, and the lock has ${generation}`,
      )
  }

  /** The serving modules. */
  async #served(): Promise<Served> {
    const steady = await this.#reader.get('/steady')
    if (steady.status !== 200) throw new Error(`steady returns ${steady.status}: ${steady.text}`)
    const served = new Map([['steady', String(steady.json.instance)]])
    for (const id of changing) served.set(id, servedIn(await this.#reader.get(`/${id}`)))
    return served
  }

  async #state(): Promise<ApplicationState | undefined> {
    return await callRunningHost(this.#directory, 'state')
  }

  /** Without load, so that only lasting objects count. */
  async sample(step: number): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.pause()))
    await callRunningHost(this.#directory, 'retired')
    const state = await this.#state()
    if (state === undefined) return this.#round.fail(`step ${step}: the host is gone`)
    const figures = await this.#host.figures()
    this.#samples.push({ step, packages: state.loadedPackages, ...figures })
    this.#round.log(
      `step ${step}: ${state.switches} switches, ${state.loadedPackages} packages, ` +
        `heap ${(figures.heap / 1e6).toFixed(1)} MB, ${figures.instances} instances`,
    )
    for (const client of this.#clients) client.start()
  }

  /** Nothing has grown, and each acknowledged write exists once, also after a restart. */
  async finish(): Promise<void> {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first && last) this.#round.fail(...growth(first, last))
    await Promise.all(this.#clients.map((client) => client.pause()))
    await this.#compareSums('at the end')
    await this.#must(['doctor'])
    const ended = await this.#host.stop()
    if (ended !== 0) this.#round.fail(`the host ended with ${ended} when it was asked to stop`)
    this.#host = await startHost(this.#directory)
    await this.#compareSums('after a restart')
    for (const { requests, acknowledged } of this.#clients) {
      this.#round.count('requests', requests)
      this.#round.count('writes acknowledged', acknowledged.entries)
    }
  }

  async #compareSums(when: string): Promise<void> {
    const { text: found } = await this.#reader.get('/steady/sums')
    const wanted = JSON.stringify(
      this.#clients.map(({ acknowledged }) => acknowledged).filter(({ entries }) => entries > 0),
    )
    if (found !== wanted) this.#round.fail(`${when} the sums are ${found}, acknowledged were ${wanted}`)
  }

  async #must(argv: readonly string[]): Promise<void> {
    await mustRun(this.#directory, [argv]).catch((error: Error) => this.#round.fail(error.message))
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
