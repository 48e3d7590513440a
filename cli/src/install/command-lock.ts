import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { acquireFileLock } from '../host.ts'

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
  const file = join(directory, '.app', 'lock')
  const owner = `${file}.owner`
  await mkdir(join(directory, '.app'), { recursive: true, mode: 0o700 })
  const lock = acquireFileLock(file)
  if (lock === undefined) {
    throw new Failure(
      'busy',
      'busy',
      `Another command is changing this application: ${await readOwner(owner)}.`,
      'Wait until it is done, then try again.',
    )
  }
  try {
    await writeFile(owner, `app ${command} (process ${process.pid})`)
    return await work()
  } finally {
    await rm(owner, { force: true })
    lock.release()
  }
}

async function readOwner(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')) || 'it has just begun'
  } catch {
    return 'it has just begun'
  }
}
