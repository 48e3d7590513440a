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
    const { code = '', path } = error as NodeJS.ErrnoException
    if (path !== undefined || !['EIO', 'ENOSPC', 'EDQUOT'].includes(code)) throw error
    const own = join(directory, '.app')
    throw Object.assign(error as Error, { path: code === 'EIO' ? own : await fullest([own, tmpdir()]) })
  }
}

/** The folder with the least free space; the first of equals. */
async function fullest(folders: readonly string[]): Promise<string | undefined> {
  const freeIn = (folder: string) =>
    statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    )
  const free = await Promise.all(folders.map(freeIn))
  return folders[free.indexOf(Math.min(...free))]
}
