import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { acquireFileLock, commandLockFile as lockOf, makeFolder } from '@mortise/host'
import { assertUsable, writtenFolders } from '../application/writable-folders.ts'
import { busy, type Failure, lockFileInUse } from '../failures/index.ts'
import { whileInterruptible } from './while-interruptible.ts'

/** How the command that was called waits for the lock of another. */
export interface LockWait {
  /** `--wait`: Infinity for as long as it takes. */
  readonly seconds: number
  /** Says on the way that it waits. */
  readonly note: (text: string) => void
}

const patience = new AsyncLocalStorage<LockWait>()

/** Does `work`, in which `withCommandLock` waits for other commands. */
export const withLockWait = <Result>(how: LockWait, work: () => Promise<Result>): Promise<Result> =>
  patience.run(how, work)

/**
 * Does `work` while no other command changes the application. The lock is the operating system's, so it dies
 * with its owner.
 * @throws {Failure} `busy`, after the time of `--wait`
 * @throws {NodeJS.ErrnoException} where the application folder cannot be written
 */
export async function withCommandLock<Result>(
  directory: string,
  command: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const owner = ownerOf(directory)
  for (const folder of writtenFolders(directory)) await assertUsable(folder)
  await makeFolder(join(directory, '.app'), 0o700)
  const lock = await acquire(directory)
  // Who is killed outright leaves it, and the next command removes it; nobody reads it unless the lock is held.
  const forget = () => rmSync(owner, { force: true })
  try {
    await writeFile(owner, `app ${command} (process ${process.pid})`)
    return await whileInterruptible(directory, forget, work)
  } finally {
    forget()
    lock.release()
  }
}

/** Whether a command is changing the application just now; the failure of whoever finds it so. */
export async function busyWith(directory: string): Promise<Failure | undefined> {
  if (!existsSync(lockOf(directory))) return undefined
  try {
    const lock = take(directory)
    if (lock === undefined) return await busyFailure(directory)
    lock.release()
  } catch {
    // Where the lock cannot be taken at all, nobody changes anything.
  }
  return undefined
}

/** How long a command waits between two attempts, in milliseconds. */
const PAUSE = 100
/** `busyWith` holds the lock for less than that, which makes no command fail. In milliseconds. */
const GLANCE = 30

type Taken = NonNullable<ReturnType<typeof acquireFileLock>>

async function acquire(directory: string): Promise<Taken> {
  const { seconds, note } = patience.getStore() ?? { seconds: 0, note: () => {} }
  const end = performance.now() + Math.max(seconds * 1000, GLANCE)
  for (let attempt = 1; ; attempt += 1) {
    const lock = take(directory)
    if (lock !== undefined) return lock
    const left = end - performance.now()
    const failure = await busyFailure(directory)
    if (left <= 0) throw failure
    if (attempt === 2) note(`${failure.message} Waiting for it.`)
    await sleep(Math.min(attempt === 1 ? GLANCE : PAUSE, left))
  }
}

/** @throws {Failure} where the file is not what it should be */
function take(directory: string): Taken | undefined {
  const file = lockOf(directory)
  try {
    return acquireFileLock(file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!/^SQLITE_(NOTADB|CORRUPT|CANTOPEN)/.test(code)) throw error
    throw lockFileInUse({ file, cause: error })
  }
}

/** @throws {Failure} where the lock is no file that can be locked */
export async function assertCommandLockFile(directory: string): Promise<void> {
  if (existsSync(lockOf(directory))) take(directory)?.release()
}

const ownerOf = (directory: string) => `${lockOf(directory)}.owner`

async function busyFailure(directory: string): Promise<Failure> {
  return busy({ owner: await readOwner(ownerOf(directory)) })
}

async function readOwner(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')) || 'it has just begun'
  } catch {
    return 'it has just begun'
  }
}
