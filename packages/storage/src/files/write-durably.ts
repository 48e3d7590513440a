import { existsSync } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sync, syncPath } from './sync-path.ts'

/**
 * Replaces a file durably by one rename: a crash leaves the old content or the new. The temporary
 * file is `<file>.<pid>.tmp`. An existing file keeps its permissions.
 * @param newMode the mode of a new file
 * @throws {NodeJS.ErrnoException} with the file as `path`; the file is unchanged then
 */
export async function writeDurably(file: string, text: string, newMode = 0o600): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  const mode = await modeOf(file)
  try {
    await writeSynced(temporary, text, mode, newMode)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true, recursive: true }).catch(() => {})
    throw Object.assign(error as NodeJS.ErrnoException, { path: file })
  }
  await syncPath(dirname(file))
}

/** @throws {NodeJS.ErrnoException} EEXIST for an existing file, which stays unchanged */
export async function writeNewDurably(file: string, text: string, mode = 0o644): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  try {
    await writeSynced(temporary, text, undefined, mode)
    await publish(temporary, file)
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: file })
  } finally {
    await rm(temporary, { force: true, recursive: true }).catch(() => {})
  }
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

/** @param mode the exact mode, despite the umask; undefined: `newMode`, reduced by the umask */
async function writeSynced(
  file: string,
  text: string,
  mode: number | undefined,
  newMode: number,
): Promise<void> {
  const handle = await open(file, 'w', newMode)
  try {
    if (mode !== undefined) await handle.chmod(mode)
    await handle.writeFile(text)
    await sync(handle)
  } finally {
    await handle.close()
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
