import { existsSync } from 'node:fs'
import { realpath, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  configFile,
  firstError,
  GenerationNumber,
  isLockFile,
  type LockFile,
  OperatorRecord,
  readGenerations,
  readLockFile,
  recordGeneration,
  writeLockFile,
  writePendingRecord,
} from '@mortise/application'
import { newId } from '@mortise/module-sdk'
import {
  acquireFileLock,
  type FileLock,
  readJsonFile,
  readText,
  replaceFile,
  writeDurably,
} from '@mortise/storage'
import { Type } from '@sinclair/typebox'

/** The changes of a switch. It can be sent to a thread. */
export interface Change {
  readonly previous: LockFile
  readonly next: LockFile
  /** The text of app.config.json before and after, for a change of settings. */
  readonly config?: { readonly previous: string; readonly next: string } | undefined
  /** An external change, for example by `git pull`: then the file is left as it is. */
  readonly external: boolean
  /** The new or changed modules: their folders in the store, by id. */
  readonly fresh: Readonly<Record<string, string>>
}

/** The command lock. Its holder changes the application: a command, or the host during a revert. */
export const commandLockFile = (directory: string) => join(directory, '.app', 'lock')

/** How often to try the lock while a command holds it, in milliseconds. */
const TRY_EVERY = 100

/**
 * Restores what was installed before a change, as a further generation, and calls
 * `serve` with it before another command can run. It waits for a running command. The schema stays
 * as it is, because newer data may need it.
 *
 * The decision is written to `.app/taking-back.json` first: after a crash the next start or command
 * completes it.
 *
 * @param reason a sentence
 * @param signal ends the wait
 * @returns undefined if there is a newer change meanwhile
 */
export async function revertChange(
  directory: string,
  change: Change,
  reason: string,
  {
    signal,
    serve,
  }: { readonly signal?: AbortSignal; readonly serve?: (lock: LockFile) => Promise<void> } = {},
): Promise<LockFile | undefined> {
  const { previous, next, config, external } = change
  const lock = await lockOf(directory, next, signal)
  if (lock === undefined) return undefined
  const owner = `${commandLockFile(directory)}.owner`
  try {
    await writeFile(owner, `the host reverts generation ${next.generation} (process ${process.pid})`)
    if (!(await isPresent(directory, next))) return undefined
    const file = await realpath(configFile(directory))
    if (config && (await readText(file)) !== config.next) return undefined
    const { known } = await readGenerations(directory)
    const made = known.findLast((past) => isDeepStrictEqual(past.lock, next))
    const { command = 'unrecorded', generation: takesBack = next.generation } = made ?? {}
    const generation = Math.max(next.generation, known.at(-1)?.generation ?? 0) + 1
    const back = { ...previous, generation }
    const record = recordOf(command, change, { generation, takesBack, reason })
    const isRecorded = made !== undefined || !external
    const decided = { next, back, config, external, isRecorded, command, takesBack, reason, record }
    await writeDurably(decidedFile(directory), `${JSON.stringify(decided, null, 2)}\n`)
    await carryOut(directory, decided)
    await serve?.(back)
    return back
  } finally {
    await rm(owner, { force: true })
    lock.release()
  }
}

/** A revert in progress. */
interface Revert extends Pick<Change, 'next' | 'config' | 'external'> {
  readonly back: LockFile
  /** The change is on record, so the revert is recorded too. */
  readonly isRecorded: boolean
  /** The command that made the change. */
  readonly command: string
  readonly takesBack: number
  readonly reason: string
  readonly record: OperatorRecord
}

const decidedFile = (directory: string) => join(directory, '.app', 'taking-back.json')

export const hasUnfinishedRevert = (directory: string) => existsSync(decidedFile(directory))

/** Completes the revert of a host that was killed. Run it under the command lock. */
export async function completeRevert(directory: string): Promise<void> {
  const decided = await readJsonFile(decidedFile(directory), isDecided)
  if (decided !== undefined) await carryOut(directory, decided)
}

const DecidedFields = Type.Object({
  isRecorded: Type.Boolean(),
  command: Type.String(),
  takesBack: GenerationNumber,
  reason: Type.String(),
  record: OperatorRecord,
  config: Type.Optional(Type.Object({ previous: Type.String(), next: Type.String() })),
})

function isDecided(value: unknown): value is Revert {
  const { next, back } = (value ?? {}) as Partial<Revert>
  return firstError(DecidedFields, value) === undefined && isLockFile(next) && isLockFile(back)
}

/** Does nothing if there is another change meanwhile. */
async function carryOut(directory: string, decided: Revert): Promise<void> {
  const { next, back, config, external, isRecorded, command, takesBack, reason, record } = decided
  const lock = await readLockFile(directory)
  if (isDeepStrictEqual(lock, next) || isDeepStrictEqual(lock, back)) {
    if (config) await replaceFile(await realpath(configFile(directory)), config.next, config.previous)
    if (!external) await writeLockFile(directory, back)
    const { generation } = back
    const more = { generation, takesBack, reason }
    if (isRecorded) await recordGeneration(directory, `${command} (reverted)`, back, more)
    await writePendingRecord(directory, record)
  }
  await rm(decidedFile(directory), { force: true })
}

async function lockOf(
  directory: string,
  next: LockFile,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  while (!signal?.aborted && (await isPresent(directory, next))) {
    const lock = acquireFileLock(commandLockFile(directory))
    if (lock !== undefined) return lock
    await pause(TRY_EVERY)
  }
  return undefined
}

const isPresent = async (directory: string, lock: LockFile) =>
  isDeepStrictEqual(await readLockFile(directory), lock)

function recordOf(
  command: string,
  { fresh, config }: Change,
  about: { readonly generation: number; readonly takesBack: number; readonly reason: string },
): OperatorRecord {
  const [action = ''] = command.split(' ')
  return {
    id: newId('audit'),
    at: new Date().toISOString(),
    actor: 'host',
    action,
    object: config ? (command.split(' ').at(-1) ?? '') : Object.keys(fresh).join(', '),
    outcome: 'reverted',
    details: { machine: hostname(), command, ...about },
  }
}
