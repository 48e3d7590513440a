import { stat, statfs } from 'node:fs/promises'

/** Keeps space free: on a full disk, the requests of a running host fail. */
export async function assertRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bytes > bavail * bsize) throw new Error(`it needs ${bytes} bytes, and ${bavail * bsize} are free`)
}

/** The size of a SQLite database with its log, in bytes; 0 if there is none. */
export async function sizeOfDatabase(databaseFile: string): Promise<number> {
  const files = [databaseFile, `${databaseFile}-wal`]
  const sizes = await Promise.all(files.map(async (file) => (await stat(file).catch(() => undefined))?.size))
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
}
