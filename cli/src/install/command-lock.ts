import { existsSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { acquireFileLock, commandLockFile as lockOf } from '../host.ts'

/**
 * Does `work` while no other command changes the application. The lock is the operating system's, so it dies
 * with its owner.
 * @throws {Failure} `busy`
 */
export async function whileLocked<Result>(
  directory: string,
  command: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const file = lockOf(directory)
  const owner = ownerOf(directory)
  await mkdir(join(directory, '.app'), { recursive: true, mode: 0o700 })
  const lock = acquireFileLock(file)
  if (lock === undefined) throw await busy(directory)
  // Who is killed outright leaves it, and the next command removes it; nobody reads it unless the lock is held.
  const forget = () => rmSync(owner, { force: true })
  const end = (signal: NodeJS.Signals) => {
    forget()
    for (const name of signals) process.off(name, end)
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, end)
  try {
    await writeFile(owner, `app ${command} (process ${process.pid})`)
    return await work()
  } finally {
    for (const signal of signals) process.off(signal, end)
    forget()
    lock.release()
  }
}

/** Whether a command is changing the application just now; the failure of whoever finds it so. */
export async function busyWith(directory: string): Promise<Failure | undefined> {
  if (!existsSync(lockOf(directory))) return undefined
  const lock = acquireFileLock(lockOf(directory))
  if (lock === undefined) return await busy(directory)
  lock.release()
  return undefined
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const ownerOf = (directory: string) => `${lockOf(directory)}.owner`

async function busy(directory: string): Promise<Failure> {
  return new Failure(
    'busy',
    'busy',
    `Another command is changing this application: ${await readOwner(ownerOf(directory))}.`,
    'Wait until it is done, then try again.',
  )
}

async function readOwner(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')) || 'it has just begun'
  } catch {
    return 'it has just begun'
  }
}
