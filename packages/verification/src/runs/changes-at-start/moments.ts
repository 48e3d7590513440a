import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../../harness/app.ts'
import { Caller } from '../../harness/caller.ts'
import { servedIn } from '../../harness/module-changes.ts'
import type { Random } from '../../harness/random.ts'
import { within } from '../../harness/until.ts'

/** From the start or the stop of the host to the start of the command, in milliseconds. */
const EARLIEST = -700
const LATEST = 1_500
/** The time limit of a response, in milliseconds. */
const PATIENCE = 30_000

export type Moment = 'start' | 'stop' | 'killed start' | 'frozen start'

export const nextMoment = (random: Random): Moment =>
  random.weighted([
    [6, 'start'],
    [4, 'stop'],
    [1, 'killed start'],
    [1, 'frozen start'],
  ])

/** Runs `command` before, while or after `event` happens to the host. */
export async function around<Result>(
  random: Random,
  event: () => Result,
  command: () => App,
): Promise<{ readonly happened: Result; readonly changing: App; readonly offset: number }> {
  const offset = random.between(EARLIEST, LATEST)
  const early = offset < 0 ? command() : undefined
  await pause(Math.max(0, -offset))
  const happened = event()
  await pause(Math.max(0, offset))
  return { happened, changing: early ?? command(), offset }
}

/** Kills or freezes a host at a moment of its start. */
export async function disturb(moment: Moment, random: Random, host: App): Promise<void> {
  if (moment !== 'killed start' && moment !== 'frozen start') return
  await pause(random.between(0, 1_500))
  if (moment === 'killed start') return void host.signal('SIGKILL')
  host.signal('SIGSTOP')
  await pause(random.between(500, 8_000))
  host.signal('SIGCONT')
}

/** The status and the body of each response until the host is gone. */
export async function responsesUntilGone(url: string, host: App): Promise<string[]> {
  const responses = new Set<string>()
  while (!host.hasEnded) {
    const response = await read(url).catch(() => undefined)
    if (response !== undefined) responses.add(response)
    await pause(5)
  }
  return [...responses]
}

/** What a host serves of the module. */
export async function read(url: string): Promise<string> {
  const agent = new Agent()
  const reply = await within(PATIENCE, new Caller(agent, () => url).get('/flip'))
  if (reply === undefined) throw new Error(`GET /flip had no response within ${PATIENCE / 1000} s`)
  return servedIn(reply)
}
