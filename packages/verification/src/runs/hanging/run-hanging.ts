import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  type ApplicationState,
  callRunningHost,
  configFile,
  readGenerations,
  readLockFile,
  secretFile,
} from '@mortise/host'
import { AppProcess, type Ended } from '../../harness/app-process.ts'
import { Buyers } from '../../harness/buyers.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import type { Random } from '../../harness/random.ts'
import { writeChangingModule } from '../soak/soak-modules.ts'

const USERS = 4
const WORKERS = 2
/**
 * How long a command may take beside a process that hangs, and a change beside one, in milliseconds; and how often the time
 * that a command takes beside none, since a machine may be busy.
 */
const COMMAND_LIMIT = 30_000
const CHANGE_LIMIT = 60_000
const BUSY = 8
/** The time limit, after the last stop, until all processes serve the installed modules. */
const SETTLE_LIMIT = 90_000
/** The possible exit codes of a command: done, unexpected, not found, refused, reverted, busy. */
const EXIT_CODES = [0, 1, 3, 4, 5, 6]

type Victim = 'host' | 'command' | 'worker' | 'parent'

export interface HangingRound {
  /** An empty folder. */
  readonly directory: string
  readonly random: Random
  /** The URL of a PostgreSQL schema, for workers; without it, one host on SQLite. */
  readonly database: string | undefined
  readonly steps: number
  /** Stops processes for a second or two at most. */
  readonly isSlice: boolean
}

export interface HangingReport {
  readonly figures: Record<string, number>
  readonly failures: string[]
}

/**
 * Users purchase and commands change a module, while processes are stopped and then continued or
 * killed.
 */
export async function runHanging(round: HangingRound): Promise<HangingReport> {
  const { random, database, isSlice } = round
  const directory = join(round.directory, 'application')
  await mkdir(directory)
  const app = (...argv: string[]) => new AppProcess(directory, database, argv)
  const figures = {
    'processes stopped': 0,
    'stopped for good': 0,
    'concurrent commands': 0,
    'changes refused or reverted': 0,
    'slowest command (s)': 0,
    'workers replaced': 0,
  }
  const failures: string[] = []
  const must = async (...argv: string[]) => {
    const { exitCode, said } = await app(...argv).ended
    if (exitCode !== 0) throw new Error(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
  }
  await must('init')
  await must('module-install', 'api-purchase')
  const versions = await Promise.all(
    ['1.0.0', '1.1.0'].map((version) =>
      writeChangingModule(join(round.directory, `flip-${version}`), 'flip', version),
    ),
  )
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  const buyers = new Buyers(await mintUsers({ issuer: auth.issuer, secret }, USERS))
  const start = async () => {
    const workers = database === undefined ? [] : ['--workers', `${WORKERS}`]
    const host = app('start', '--port', '0', ...workers)
    const { url } = await host.firstDocument<{ url: string }>()
    return { host, url }
  }
  /** The command ends within its limit, with a known code. */
  let busy = 0
  const judge = (
    argv: readonly string[],
    { exitCode, said, seconds }: Ended,
    limit: number,
    wasKilled = false,
  ) => {
    const command = `app ${argv.join(' ')}`
    figures['slowest command (s)'] = Math.max(figures['slowest command (s)'], Math.round(seconds))
    if (seconds * 1000 > limit + busy) failures.push(`${command} took ${Math.round(seconds)} s: ${said}`)
    if (!wasKilled && !EXIT_CODES.includes(exitCode ?? -1))
      failures.push(`${command} ended with ${exitCode}: ${said}`)
  }
  let { host, url } = await start()
  busy = (await app('doctor').ended).seconds * 1000 * BUSY
  try {
    for (let step = 0; step < round.steps && failures.length === 0; step += 1) {
      buyers.start(url)
      const victims: readonly Victim[] =
        database === undefined ? ['host', 'host', 'command'] : ['worker', 'worker', 'parent', 'command']
      const victim = victims[random.between(0, victims.length - 1)] as Victim
      const before = await stateOf(directory)
      const change = nextChange(random, versions)
      const changing = app(...change)
      await pause(random.between(0, 2_500))
      const pid = pidOf(victim, before, changing, random)
      const stopFor = isSlice ? random.between(200, 1_500) : random.between(200, 25_000)
      const isForGood = !isSlice && random.chance(0.3)
      if (signal(pid, 'SIGSTOP')) figures['processes stopped'] += 1
      const woken = pause(stopFor).then(() => signal(pid, isForGood ? 'SIGKILL' : 'SIGCONT'))
      if (isForGood) figures['stopped for good'] += 1
      for (let beside = 0; beside < (isSlice ? 1 : 2); beside += 1) {
        const argv = besideIt(random)
        judge(argv, await app(...argv).endedWithin(COMMAND_LIMIT + busy), COMMAND_LIMIT)
        figures['concurrent commands'] += 1
      }
      await woken
      const ended = await changing.endedWithin(CHANGE_LIMIT + busy)
      judge(change, ended, CHANGE_LIMIT, victim === 'command' && isForGood)
      if (ended.exitCode !== 0) figures['changes refused or reverted'] += 1
      await buyers.stop()
      if (isForGood && (victim === 'host' || victim === 'parent')) {
        await host.ended
        ;({ host, url } = await start())
      }
      // First completes what a killed command left.
      if (isForGood && victim === 'command') await app('doctor', '--fix').ended
      failures.push(...(await settled(directory, url)))
      if (victim === 'worker') figures['workers replaced'] += replaced(before, await stateOf(directory))
      failures.push(...(await buyers.check(url)))
    }
    const doctor = await app('doctor').ended
    const findings: { id: string; severity: string; message: string }[] = doctor.document?.findings ?? []
    for (const { id, severity, message } of findings)
      if (severity !== 'info' && !expected.includes(id)) failures.push(`app doctor finds ${id}: ${message}`)
  } finally {
    await host.end()
    buyers.close()
  }
  return { figures: { ...figures, 'purchases acknowledged': buyers.acknowledged }, failures }
}

/**
 * The expected findings: leftovers of an abandoned change, the row of a killed worker, and `config
 * set`.
 */
const expected = ['store-unused', 'hosts-differ', 'settings-pending']

function nextChange(random: Random, [first = '', second = '']: readonly string[]): readonly string[] {
  return random.weighted([
    [3, ['module-install', first]],
    [3, ['module-install', second]],
    [1, ['module-disable', 'flip']],
    [1, ['module-enable', 'flip']],
    [1, ['module-remove', 'flip']],
  ])
}

const besideIt = (random: Random): readonly string[] =>
  random.weighted([
    [2, ['doctor']],
    [2, ['module-list']],
    [1, ['module-history']],
    [1, ['start', '--port', '0']],
    [1, ['audit']],
    [1, ['module-disable', 'flip']],
    [1, ['config', 'set', 'name', `shop-${random.between(1, 9)}`]],
  ])

function pidOf(
  victim: Victim,
  { pid, workers = [] }: ApplicationState,
  changing: AppProcess,
  random: Random,
): number {
  if (victim === 'command') return changing.pid
  if (victim !== 'worker') return pid
  return (workers[random.between(0, workers.length - 1)] as { pid: number }).pid
}

/** @returns whether the process existed */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

async function stateOf(directory: string): Promise<ApplicationState> {
  return (await callRunningHost(directory, 'state')) as ApplicationState
}

const replaced = ({ workers: previous = [] }: ApplicationState, { workers: next = [] }: ApplicationState) =>
  previous.filter(({ pid }) => !next.some((worker) => worker.pid === pid)).length

/**
 * Lock file, history and every process agree, and the module's route exists if the lock file has
 * the module.
 */
async function settled(directory: string, url: string): Promise<string[]> {
  let failures: string[] = []
  for (const end = performance.now() + SETTLE_LIMIT; performance.now() < end; await pause(500)) {
    failures = await disagreements(directory, url)
    if (failures.length === 0) return []
  }
  return failures
}

async function disagreements(directory: string, url: string): Promise<string[]> {
  const lock = await readLockFile(directory)
  const state = await stateOf(directory).catch((error: Error) => error)
  if (!state || state instanceof Error) return [`the host cannot be asked: ${state?.message}`]
  const { known } = await readGenerations(directory)
  const { workers = [], silentWorkers = [] } = state
  const failures = [state, ...workers]
    .filter(({ generation }) => generation !== lock.generation)
    .map(
      ({ pid, generation }) =>
        `process ${pid} serves generation ${generation}, the lock has ${lock.generation}`,
    )
  if (silentWorkers.length > 0 || workers.length === 1)
    failures.push(`not all workers serve: ${JSON.stringify(state)}`)
  if (!isDeepStrictEqual(known.at(-1)?.lock, lock)) failures.push('the history does not end with the lock')
  const flip = lock.modules.flip
  const { status } = await fetch(`${url}/flip`, { signal: AbortSignal.timeout(10_000) }).catch(() => ({
    status: 0,
  }))
  if (status !== (flip?.enabled ? 200 : 404))
    failures.push(`GET /flip returns ${status}, and the lock has ${JSON.stringify(flip)}`)
  return failures
}
