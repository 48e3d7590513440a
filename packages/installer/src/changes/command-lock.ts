import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertUsable, withDiskReserve, writtenFolders } from '@mortise/application/folder'
import { commandLockFile as lockOf } from '@mortise/host'
import { acquireFileLock, makeFolder } from '@mortise/storage'
import { busy, commandLockUnusable, type Failure } from '../failures/index.ts'
import { journalFile, restorationFile } from './journal.ts'

export interface LockWait {
  /** `--wait`. Infinity: without a limit. */
  readonly seconds: number
  /** Notifies the user that the command waits. */
  readonly note: (text: string) => void
}

const impatient: LockWait = { seconds: 0, note: () => {} }
const patience = new AsyncLocalStorage<LockWait>()

/** Runs `work`; `withCommandLock` inside it waits for other commands. */
export const withLockWait = <Result>(how: LockWait, work: () => Promise<Result>): Promise<Result> =>
  patience.run(how, work)

/** Like `withLockWait`, for at least these seconds. */
export function withPatience<Result>(seconds: number, work: () => Promise<Result>): Promise<Result> {
  const { seconds: asked, note } = patience.getStore() ?? impatient
  return patience.run({ seconds: Math.max(asked, seconds), note }, work)
}

/**
 * Runs `work` while no other command can change the application. The lock belongs to the operating
 * system, which releases it when the process dies.
 * @throws {Failure} `busy`, after the time of `--wait`
 * @throws {NodeJS.ErrnoException} if the application folder is not writable
 */
export async function withCommandLock<Result>(
  directory: string,
  command: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return await withDiskReserve(directory, () => whileLocked(directory, command, work))
}

async function whileLocked<Result>(
  directory: string,
  command: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const owner = ownerOf(directory)
  for (const folder of writtenFolders(directory)) await assertUsable(folder)
  await makeFolder(join(directory, '.app'), 0o700)
  const lock = await acquire(directory)
  // A killed command leaves this file. The next command removes it, and it is read only while the
  // lock is held.
  const forget = () => rmSync(owner, { force: true })
  try {
    await writeFile(owner, `app ${command} (process ${process.pid})`).catch((error: Error) => {
      throw Object.assign(error, { path: owner })
    })
    return await whileInterruptible(directory, forget, work)
  } finally {
    forget()
    lock.release()
  }
}

/**
 * Waits for other commands as `withCommandLock` does, for what only reads.
 * @throws {Failure} `busy`, after the time of `--wait`
 */
export async function afterOtherCommands(directory: string): Promise<void> {
  await makeFolder(join(directory, '.app'), 0o700)
  const lock = await acquire(directory)
  lock.release()
}

/** Whether a command is changing the application now. Returns the failure for another one. */
export async function busyWith(directory: string): Promise<Failure | undefined> {
  if (!existsSync(lockOf(directory))) return undefined
  try {
    const lock = take(directory)
    if (lock === undefined) return await busyFailure(directory)
    lock.release()
  } catch {
    // A lock that cannot be taken at all means that no command changes anything.
  }
  return undefined
}

/** The pause between two attempts, in milliseconds. */
const PAUSE = 100
/** `busyWith` holds the lock for less, in milliseconds, and must not make a command fail. */
const GLANCE = 30

type Taken = NonNullable<ReturnType<typeof acquireFileLock>>

async function acquire(directory: string): Promise<Taken> {
  const { seconds, note } = patience.getStore() ?? impatient
  const end = performance.now() + seconds * 1000
  for (let attempt = 1; ; attempt += 1) {
    const lock = take(directory)
    if (lock !== undefined) return lock
    const left = end - performance.now()
    if (attempt > 1) {
      const failure = await busyFailure(directory)
      if (left <= 0) throw failure
      if (attempt === 2) note(`${failure.message} Waiting for it.`)
    }
    await sleep(attempt === 1 ? GLANCE : Math.min(PAUSE, left))
  }
}

/** @throws {Failure} if the file is not a regular file */
function take(directory: string): Taken | undefined {
  const file = lockOf(directory)
  try {
    return acquireFileLock(file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!/^SQLITE_(NOTADB|CORRUPT|CANTOPEN)/.test(code)) throw error
    throw commandLockUnusable({ file, cause: error })
  }
}

/** @throws {Failure} if the lock is not a file that can be locked */
export async function assertCommandLockFile(directory: string): Promise<void> {
  if (existsSync(lockOf(directory))) take(directory)?.release()
}

const ownerOf = (directory: string) => `${lockOf(directory)}.owner`

async function busyFailure(directory: string): Promise<Failure> {
  const owner = await readFile(ownerOf(directory), 'utf8').catch(() => '')
  return busy({ owner: owner || 'it has just begun' })
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Runs `work`. A signal ends the process as usual, after `forget`, and a note on what stays. */
async function whileInterruptible<Result>(
  directory: string,
  forget: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = (signal: NodeJS.Signals) => {
    process.stderr.write(`\n${leftOf(directory)}\n`)
    forget()
    for (const name of signals) process.off(name, end)
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, end)
  try {
    return await work()
  } finally {
    for (const signal of signals) process.off(signal, end)
  }
}

function leftOf(directory: string): string {
  const isDecided = [journalFile(directory), restorationFile(directory)].some((file) => existsSync(file))
  return isDecided
    ? 'Interrupted in the middle of the change. The next command that changes the application completes or reverts it: app doctor --fix'
    : 'Interrupted. The application did not change. The next command removes the prepared files.'
}
