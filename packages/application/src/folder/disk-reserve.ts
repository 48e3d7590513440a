import { randomFillSync } from 'node:crypto'
import { rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Enough for the lock file, the journal and the records of a change, in bytes. */
const SIZE = 1024 * 1024
/** The reserve is made while so much is free, so that it fills no disk, in bytes. */
const ROOM = 8 * SIZE

const reserveFile = (directory: string) => join(directory, '.app', 'reserve')

/**
 * Runs `work`, and gives up `.app/reserve` for it on a full disk: an operator can then still disable
 * a module, change a setting or mint a token. Afterwards the reserve takes what is left of it.
 */
export async function withDiskReserve<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const isFull = (await freeIn(directory)) < SIZE
  if (isFull) await rm(reserveFile(directory), { force: true }).catch(() => {})
  try {
    return await work()
  } finally {
    await makeReserve(directory, isFull)
  }
}

/** Makes the reserve if it is missing and there is room. @param takesAll less room is enough */
export async function makeReserve(directory: string, takesAll = false): Promise<void> {
  const file = reserveFile(directory)
  try {
    const size = (await stat(file).catch(() => undefined))?.size ?? 0
    if (size >= SIZE) return
    const free = await freeIn(directory)
    if (!takesAll && free < ROOM) return
    // Random: a file system that compresses would keep no room for zeros.
    await writeFile(file, randomFillSync(Buffer.alloc(Math.min(SIZE, free))), { mode: 0o600 })
  } catch {
    // The next command tries again. What was written is reserved.
  }
}

async function freeIn(directory: string): Promise<number> {
  const found = await statfs(join(directory, '.app')).catch(() => undefined)
  return found === undefined ? Number.POSITIVE_INFINITY : found.bavail * found.bsize
}
