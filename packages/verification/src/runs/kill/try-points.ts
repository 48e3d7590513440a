import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child } from '../../harness/child.ts'
import type { CheckRequest, CheckResult } from './check-worker.ts'
import { type CommandName, type Prepared, prepare } from './commands.ts'
import { addressOf, startSampleRegistry } from './sample-registry.ts'
import { killBesideHost, killCommand, killHost, type Point } from './victims.ts'

/**
 * The process to kill: the command on a stopped application, the command beside a running host, or
 * that host.
 */
const victims = ['command', 'command-served', 'host'] as const
export type Victim = (typeof victims)[number]

export interface TryOptions {
  readonly commands: readonly CommandName[]
  readonly victims: readonly Victim[]
  /** Kill at every nth call; 1: after each. */
  readonly every: number
  /** The remainder that selects these calls. */
  readonly offset: number
  /** The most kills that need a separate run each; undefined: all. */
  readonly most?: number
  readonly onResult: (result: Result) => void
}

interface FailedPoint extends Point {
  readonly failure: string
}

interface Result {
  readonly command: CommandName
  readonly victim: Victim
  /** The number of tried points. */
  readonly tried: number
  /** The number of different states after the kills. Each was checked. */
  readonly states: number
  readonly failures: readonly FailedPoint[]
}

/**
 * Kills at system calls that change something, one run per command and victim, and checks the
 * result. Keeps the folders of failed points.
 * @returns the folder with them
 */
export async function tryPoints({ commands, victims, onResult, ...which }: TryOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kill-points-'))
  const packages = join(folder, 'packages')
  await mkdir(packages)
  const registry = await startSampleRegistry(packages)
  process.env.npm_config_registry = addressOf(registry)
  process.env.npm_config_cache = join(folder, 'npm-cache')
  process.env.npm_config_userconfig = join(folder, 'no.npmrc')
  let failed = false
  try {
    for (const prepared of await prepare(folder, commands)) {
      for (const victim of victims) {
        const place = join(folder, `${prepared.name}, ${victim}`)
        await mkdir(place)
        const result = await kinds[victim](prepared, place, which)
        onResult({ command: prepared.name, victim, ...result })
        if (result.failures.length === 0) await rm(place, { recursive: true })
        else failed = true
      }
    }
    if (!failed) await rm(folder, { recursive: true })
    return folder
  } finally {
    registry.closeAllConnections()
    registry.close()
  }
}

type Which = Pick<TryOptions, 'every' | 'offset' | 'most'>
type Tried = Pick<Result, 'tried' | 'states' | 'failures'>

const kinds: Record<Victim, (prepared: Prepared, folder: string, which: Which) => Promise<Tried>> = {
  async command(prepared, folder, { every, offset }) {
    const checkers = new Checkers()
    try {
      const failures: FailedPoint[] = []
      const checks: Promise<void>[] = []
      const tried = await killCommand(
        prepared,
        folder,
        (number) => number % every === offset % every,
        (point, directory) => {
          const check = async () => {
            const failure = await checkers.check({ prepared, directory })
            if (failure !== undefined) failures.push({ ...point, failure })
          }
          checks.push(check())
        },
      )
      await Promise.all(checks)
      return { tried, states: checks.length, failures }
    } finally {
      await checkers.stop()
    }
  },

  'command-served': (prepared, folder, which) =>
    oneByOne(which, (number) => killBesideHost(prepared, folder, number)),

  async host(prepared, folder, which) {
    const checkers = new Checkers()
    try {
      return await oneByOne(which, async (number) => {
        const killed = await killHost(prepared, folder, number)
        if (killed === undefined) return undefined
        const failure = await checkers.check({ prepared, directory: killed.directory })
        return { ...killed, failure }
      })
    } finally {
      await checkers.stop()
    }
  },
}

async function oneByOne(
  { every, offset, most = Infinity }: Which,
  kill: (number: number) => Promise<(Point & { failure?: string | undefined }) | undefined>,
): Promise<Tried> {
  const failures: FailedPoint[] = []
  let tried = 0
  for (let number = offset % every || every; tried < most; number += every) {
    const point = await kill(number).catch((error: Error) => ({
      number,
      call: '?',
      failure: error.message,
    }))
    if (point === undefined) break
    tried += 1
    const { failure } = point
    if (failure !== undefined) failures.push({ ...point, failure })
  }
  return { tried, states: tried, failures }
}

/** Two checking processes, each with one application at a time. */
class Checkers {
  readonly #children = [1, 2].map(() => new Child(new URL('check-worker.ts', import.meta.url)))
  readonly #queues: Promise<unknown>[] = this.#children.map(() => Promise.resolve())
  #next = 0

  /** @returns what does not hold */
  check(request: CheckRequest): Promise<string | undefined> {
    const index = this.#next++ % this.#children.length
    const response = this.#queues[index]?.then(() => this.#children[index]?.ask<CheckResult>(request))
    this.#queues[index] = response ?? Promise.resolve()
    return response?.then((found) => found?.failure) ?? Promise.resolve(undefined)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()))
  }
}
