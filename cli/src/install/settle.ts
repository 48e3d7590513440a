import {
  callRunningHost,
  HostEndedError,
  HostRefusedError,
  readGenerations,
  readLockFile,
} from '@mortise/host'
import { noSecondsToSettle, takenBack } from '../failures/index.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Switched } from './apply/apply-change.ts'

/** The option of every command that waits until its change has settled. */
export const settleOption = [
  '--settle <seconds>',
  'wait until the change has settled; the running host watches each for 10 s, or for as long as you wait',
] as const

/** The longest that a change can be waited for, in seconds. */
const LONGEST = 3600

/** @returns undefined where nothing is to be waited for. @throws {Failure} usage */
export function secondsToSettle(text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (typeof text === 'string' && /^\d{1,4}$/.test(text) && seconds <= LONGEST) return seconds || undefined
  throw noSecondsToSettle({ text: String(text), longest: LONGEST })
}

/**
 * Waits, for so many seconds at most, until the running host has watched a change. Run it when the application is not
 * locked any more: the host needs that to take the change back.
 * @returns whether it has settled, false where the host goes on watching it; undefined where nothing was waited for
 * @throws {Failure} where it was taken back (5)
 */
export async function waitUntilSettled(
  directory: string,
  switched: Switched | undefined,
  seconds: number | undefined,
  terminal: Terminal,
): Promise<boolean | undefined> {
  if (!switched?.live || seconds === undefined) return undefined
  // A lock that came from outside has another number than its record.
  const { generation } = await readLockFile(directory)
  const [answer] = await terminal.during('Settling', () =>
    Promise.allSettled([callRunningHost(directory, 'settle', { generation, seconds })]),
  )
  // Also where the host has ended itself because of the change.
  const { known } = await readGenerations(directory)
  const back = known.find(({ takesBack }) => takesBack === switched.generation)
  if (back) throw takenBack({ reason: back.reason ?? 'the running host did not hold up' })
  if (answer.status === 'rejected' && !(answer.reason instanceof HostRefusedError)) throw answer.reason
  if (answer.status === 'rejected' || answer.value === undefined)
    throw new HostEndedError('the running host ended while it watched the change')
  return answer.value.verdict === 'settled'
}

/** For people: nothing where nothing was waited for. */
export const settledText = (settled: boolean | undefined): string[] =>
  settled === undefined ? [] : [settled ? 'The change has settled.' : 'The host goes on watching the change.']
