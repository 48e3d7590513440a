import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { readGenerations, readLockFile } from '@mortise/application'
import { type ApplicationState, callRunningHost } from '@mortise/host'
import { App, type Ended, mustRun, startHost, startWords } from '../../harness/app.ts'
import { writeChangingModule } from '../../harness/changing-module.ts'
import { defineRun, onEitherEngine } from '../../harness/define-run.ts'
import type { Random } from '../../harness/random.ts'
import { shoppersOf } from '../../harness/shoppers.ts'
import { signal } from '../../harness/signal.ts'
import { until } from '../../harness/until.ts'

const USERS = 4
const WORKERS = 2
/** The number of stops in one round. */
const STEPS = 3
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
/** Expected findings: leftovers of an abandoned change, the row of a killed worker, and `config set`. */
const EXPECTED = ['store-unused', 'hosts-differ', 'settings-pending']

type Victim = 'host' | 'command' | 'worker' | 'parent'

export const hanging = defineRun({
  promise:
    'A host, a worker or a command that is stopped for a while, or permanently, blocks no other command and loses no acknowledged purchase. All processes serve one generation afterwards.',
  // The command of a slice may end before its stop.
  needed: ['purchases acknowledged'],
  neededInTime: ['processes stopped'],
  // With workers on PostgreSQL.
  engines: onEitherEngine,
  async round(round) {
    // A slice has no time for effects that take ten seconds.
    const { random, database, isSlice } = round
    const directory = join(round.folder, 'application')
    const environment = { APP_DATABASE: database }
    const app = (argv: readonly string[]) => new App(directory, argv, { environment })
    await mustRun(directory, [['init'], ['module-install', 'api-purchase']], { environment })
    const versions = await Promise.all(
      ['1.0.0', '1.1.0'].map((version) =>
        writeChangingModule(join(round.folder, `flip-${version}`), 'flip', version),
      ),
    )
    const shoppers = await shoppersOf(round, directory, USERS)
    const start = () =>
      startHost(directory, { environment, workers: database === undefined ? undefined : WORKERS })
    let host = await start()
    round.teardown(() => host.kill())
    const busy = (await app(['doctor']).ended).seconds * 1000 * BUSY
    /** The command ends within its limit, with a known code. */
    const judge = (argv: readonly string[], ended: Ended, limit: number, wasKilled = false) => {
      const { exitCode, said, seconds } = ended
      round.figures.largest('slowest command (s)', Math.round(seconds))
      if (seconds * 1000 > limit + busy)
        round.fail(`app ${argv.join(' ')} took ${Math.round(seconds)} s: ${said}`)
      if (!wasKilled && !EXIT_CODES.includes(exitCode ?? -1))
        round.fail(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
    }

    const step = async () => {
      shoppers.start(host.url)
      const victims: readonly Victim[] =
        database === undefined ? ['host', 'host', 'command'] : ['worker', 'worker', 'parent', 'command']
      const victim = random.oneOf(victims)
      const before = await stateOf(directory)
      const change = nextChange(random, versions)
      const changing = app(change)
      await pause(random.between(0, 2_500))
      const pid = pidOf(victim, before, changing, random)
      const stopFor = isSlice ? random.between(200, 1_500) : random.between(200, 25_000)
      const isForGood = !isSlice && random.chance(0.3)
      if (signal(pid, 'SIGSTOP')) round.count('processes stopped')
      const woken = pause(stopFor).then(() => signal(pid, isForGood ? 'SIGKILL' : 'SIGCONT'))
      if (isForGood) round.count('stopped for good')
      for (let beside = 0; beside < (isSlice ? 1 : 2); beside += 1) {
        const argv = besideIt(random)
        judge(argv, await app(argv).within(COMMAND_LIMIT + busy + 5_000), COMMAND_LIMIT)
        round.count('concurrent commands')
      }
      await woken
      const ended = await changing.within(CHANGE_LIMIT + busy + 5_000)
      judge(change, ended, CHANGE_LIMIT, victim === 'command' && isForGood)
      if (ended.exitCode !== 0) round.count('changes refused or reverted')
      await shoppers.stop()
      if (isForGood && (victim === 'host' || victim === 'parent')) {
        await host.ended
        host = await start()
      }
      // First completes what a killed command left.
      if (isForGood && victim === 'command') await app(['doctor', '--fix']).ended
      let failures: string[] = []
      await until(
        async () => {
          failures = await disagreements(directory, host.url)
          return failures.length === 0
        },
        SETTLE_LIMIT,
        500,
      )
      round.fail(...failures)
      if (victim === 'worker') round.count('workers replaced', replaced(before, await stateOf(directory)))
      round.fail(...(await shoppers.check(host.url)))
    }
    for (let count = 0; count < (isSlice ? 1 : STEPS) && round.holds; count += 1) await step()
    const findings: { id: string; severity: string; message: string }[] =
      (await app(['doctor']).ended).json?.findings ?? []
    for (const { id, severity, message } of findings)
      if (severity !== 'info' && !EXPECTED.includes(id)) round.fail(`app doctor finds ${id}: ${message}`)
    round.count('purchases acknowledged', shoppers.acknowledged)
  },
})

function nextChange(random: Random, [first = '', second = '']: readonly string[]): readonly string[] {
  return random.weighted([
    [3, ['module-install', '--yes', first]],
    [3, ['module-install', '--yes', second]],
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
    [1, startWords()],
    [1, ['audit']],
    [1, ['module-disable', 'flip']],
    [1, ['config', 'set', 'name', `shop-${random.between(1, 9)}`]],
  ])

function pidOf(
  victim: Victim,
  { pid, workers = [] }: ApplicationState,
  changing: App,
  random: Random,
): number {
  if (victim === 'command') return changing.child.pid as number
  return victim === 'worker' ? random.oneOf(workers).pid : pid
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
