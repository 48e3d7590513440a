import { readGenerations, readLockFile } from '@mortise/application'
import { callRunningHost, HostEndedError, HostRefusedError } from '@mortise/host'
import { noSecondsToSettle, takenBack } from '../failures/index.ts'
import type { Reporter } from '../reporting/reporter.ts'
import type { Switched } from './apply/apply-change.ts'

/** The option of every command that can wait for its change to settle. */
export const settleOption = [
  '--settle <seconds>',
  'wait until the change has settled; the running host watches each change for 10 s, or longer if you wait longer',
] as const

/** The longest wait, in seconds. */
const LONGEST = 3600

/** @returns undefined if the command does not wait */
export function secondsToSettle(text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (typeof text === 'string' && /^\d{1,4}$/.test(text) && seconds <= LONGEST) return seconds || undefined
  throw noSecondsToSettle({ text: String(text), longest: LONGEST })
}

/**
 * Waits, for this many seconds at most, until the change watch of the running host ends. Call this
 * without the command lock, because the host needs it for a revert.
 * @returns true if the change has settled, false if the host still watches it; undefined without a
 * wait
 * @throws {Failure} if it was reverted (5)
 */
export async function waitUntilSettled(
  directory: string,
  switched: Switched | undefined,
  seconds: number | undefined,
  terminal: Reporter,
): Promise<boolean | undefined> {
  if (!switched?.live || seconds === undefined) return undefined
  // An external lock file has another number than its record.
  const { generation } = await readLockFile(directory)
  const [outcome] = await terminal.during('Settling', () =>
    Promise.allSettled([callRunningHost(directory, 'settle', { generation, seconds })]),
  )
  // Also if the change made the host exit.
  const { known } = await readGenerations(directory)
  const back = known.find(({ takesBack }) => takesBack === switched.generation)
  if (back) throw takenBack({ reason: back.reason ?? 'the running host failed' })
  if (outcome.status === 'rejected' && !(outcome.reason instanceof HostRefusedError)) throw outcome.reason
  if (outcome.status === 'rejected' || outcome.value === undefined)
    throw new HostEndedError('the running host ended while it watched the change')
  return outcome.value.verdict === 'settled'
}

/** For people; empty without a wait. */
export const settledText = (settled: boolean | undefined): string[] =>
  settled === undefined ? [] : [settled ? 'The change has settled.' : 'The host still watches the change.']
