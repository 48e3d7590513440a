import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppProcess, type Ended } from '../../harness/app-process.ts'
import type { Random } from '../../harness/random.ts'
import { type Flip, flipIn, nextChange, servedOf } from './flip-module.ts'
import { around, disturb, nextMoment, read, responsesUntilGone } from './moments.ts'

export interface ChangesRound {
  /** An empty folder. */
  readonly directory: string
  readonly random: Random
  /** The URL of a PostgreSQL schema; without it, SQLite. */
  readonly database: string | undefined
  /** The number of processes; undefined: one. */
  readonly workers: number | undefined
  readonly changes: number
  readonly signal: AbortSignal
}

/** Changes a module around starts and stops of the host, and compares what is served. */
export async function runChangesAtStart(round: ChangesRound) {
  const { random, database, workers, signal } = round
  const directory = join(round.directory, 'application')
  await mkdir(directory)
  const app = (...argv: string[]) => new AppProcess(directory, database, argv)
  const startHost = (drain = 0) =>
    new AppProcess(
      directory,
      database,
      ['start', '--port', '0', ...(workers === undefined ? [] : ['--workers', `${workers}`])],
      { APP_SERVER_DRAIN_SECONDS: `${drain}` },
    )
  const figures = {
    changes: 0,
    'around a start': 0,
    'around a stop': 0,
    'with a killed host': 0,
    'with a frozen host': 0,
    'served by the host that started or stopped': 0,
    'refused or reverted beside a killed or frozen host': 0,
  }
  const failures: string[] = []
  const must = async (...argv: string[]) => {
    const { exitCode, said } = await app(...argv).ended
    if (exitCode !== 0) throw new Error(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
  }
  await must('init')
  let flip: Flip = { patch: undefined, isEnabled: true, mark: 0 }
  let newest = 0
  let host: AppProcess | undefined
  const urlOf = async (of: AppProcess) => (await of.firstDocument<{ url: string }>()).url
  const stop = async () => {
    host?.signal('SIGTERM')
    await host?.ended
    host = undefined
  }

  const makeOne = async () => {
    const change = await nextChange(random, flip, newest, round.directory)
    newest = Math.max(newest, change.after.patch ?? 0)
    const moment = nextMoment(random)
    const command = () => app(...change.argv)
    const what = `app ${change.argv.join(' ')} at a ${moment}`
    let ended: Ended
    let when: number
    if (moment === 'stop') {
      figures['around a stop'] += 1
      const drain = random.chance(0.3) ? 1 : 0
      const stopping = host ?? startHost(drain)
      const url = await urlOf(stopping)
      host = undefined
      const { changing, offset } = await around(random, () => stopping.signal('SIGTERM'), command)
      ended = await changing.ended
      when = offset
      if (ended.exitCode === 0) {
        const responses = await responsesUntilGone(url, stopping)
        if (responses.length > 0) figures['served by the host that started or stopped'] += 1
        for (const response of responses)
          if (response !== servedOf(change.after))
            failures.push(`${what} (${when} ms): a host that stops serves ${response} after it`)
      }
      await stopping.ended
    } else {
      await stop()
      const { happened: starting, changing, offset } = await around(random, () => startHost(), command)
      when = offset
      await disturb(moment, random, starting)
      ended = await changing.ended
      if (moment === 'killed start') {
        figures['with a killed host'] += 1
        await starting.ended
      } else {
        figures[moment === 'start' ? 'around a start' : 'with a frozen host'] += 1
        host = starting
        const served = await urlOf(starting).then(read)
        if (ended.exitCode === 0) {
          figures['served by the host that started or stopped'] += 1
          if (served !== servedOf(change.after))
            failures.push(`${what} (${when} ms): the host serves ${served} after it`)
        }
      }
    }
    figures.changes += 1
    if (ended.exitCode === 0) flip = change.after
    else {
      if (moment === 'start' || moment === 'stop')
        failures.push(`${what} (${when} ms) ended with ${ended.exitCode}: ${ended.said}`)
      figures['refused or reverted beside a killed or frozen host'] += 1
      await must('doctor', '--fix')
      flip = await flipIn(directory)
    }
    host ??= startHost()
    const served = await urlOf(host).then(read)
    if (served !== servedOf(flip))
      failures.push(`${what} (${when} ms) ended with ${ended.exitCode}: ${served} is served later`)
  }

  try {
    while (figures.changes < round.changes && failures.length === 0 && !signal.aborted) await makeOne()
  } finally {
    await host?.end()
  }
  return { figures, failures }
}
