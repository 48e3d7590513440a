import { existsSync } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readText } from './read-text.ts'
import { sync, syncPath } from './sync-path.ts'

/**
 * Replaces a file durably by one rename: a crash leaves the old content or the new. The temporary
 * file is `<file>.<pid>.tmp`. An existing file keeps its permissions.
 * @param newMode the mode of a new file
 * @throws {NodeJS.ErrnoException} with the file as `path`; the file is unchanged then
 */
export async function writeDurably(file: string, text: string, newMode = 0o600): Promise<void> {
  const mode = await modeOf(file)
  await write(file, text, mode, newMode, (temporary) => rename(temporary, file))
  await syncPath(dirname(file))
}

/** @throws {NodeJS.ErrnoException} EEXIST for an existing file, which stays unchanged */
export const writeNewDurably = (file: string, text: string, mode = 0o644): Promise<void> =>
  write(file, text, undefined, mode, (temporary) => publish(temporary, file))

/**
 * Replaces the text of a file durably. Writes even an unchanged text, since an earlier attempt may
 * have failed to sync it.
 * @returns false if the text is neither `previous` nor `next`
 */
export async function replaceFile(file: string, previous: string, next: string): Promise<boolean> {
  const text = await readText(file)
  if (text !== previous && text !== next) return false
  await writeDurably(file, next)
  return true
}

/** `temporary` may remain. @throws {NodeJS.ErrnoException} EEXIST if the name is taken */
export async function publish(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(file)) throw error
    // For file systems without hard links.
    await rename(temporary, file)
  }
  await syncPath(dirname(file))
}

/**
 * @param mode the exact mode, despite the umask; undefined: `newMode`, reduced by the umask
 * @param place gives the complete file its name
 */
async function write(
  file: string,
  text: string,
  mode: number | undefined,
  newMode: number,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  try {
    const handle = await open(temporary, 'w', newMode)
    try {
      if (mode !== undefined) await handle.chmod(mode)
      await handle.writeFile(text)
      await sync(handle)
    } finally {
      await handle.close()
    }
    await place(temporary)
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: file })
  } finally {
    await rm(temporary, { force: true, recursive: true }).catch(() => {})
  }
}

/** The permissions of a file; undefined without a file. */
export async function modeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mode & 0o777
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
