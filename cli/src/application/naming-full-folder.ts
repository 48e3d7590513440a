import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** If `work` fails on a full or broken disk and the error names no file, adds the folder. */
export async function namingFullFolder<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === 'EIO' && path === undefined)
      throw Object.assign(error as Error, { path: join(directory, '.app') })
    if (!['ENOSPC', 'EDQUOT'].includes(code ?? '') || path !== undefined) throw error
    throw Object.assign(error as Error, { path: await fullest([join(directory, '.app'), tmpdir()]) })
  }
}

/** The folder with the least free space; the first of equals. */
async function fullest(folders: readonly string[]): Promise<string | undefined> {
  const rooms = await Promise.all(
    folders.map(async (folder) => {
      const { bavail, bsize } = await statfs(folder).catch(() => ({
        bavail: Number.POSITIVE_INFINITY,
        bsize: 1,
      }))
      return { folder, bytes: bavail * bsize }
    }),
  )
  return rooms.toSorted((one, other) => one.bytes - other.bytes)[0]?.folder
}
