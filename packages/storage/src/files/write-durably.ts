import { existsSync } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncPath } from './sync-path.ts'

/**
 * Replaces a file by one rename, on the disk when it resolves: a crash leaves the old content or the new. The
 * temporary file is `<file>.<pid>.tmp`. Who may read the file stays as it is.
 * @param newMode of a file that is new
 * @throws {NodeJS.ErrnoException} with `path`, the file; it is as it was then
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

/**
 * As `writeDurably`, of a file that is new.
 * @throws {NodeJS.ErrnoException} EEXIST where there is one, which stays as it is
 */
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

/**
 * Gives a file on the disk its name there; `temporary` may be left.
 * @throws {NodeJS.ErrnoException} EEXIST where something has that name
 */
export async function publish(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(file)) throw error
    // File systems without hard links.
    await rename(temporary, file)
  }
  await syncPath(dirname(file))
}

/** @param mode that it has to have, whatever the umask; undefined: `newMode`, as far as the umask allows it */
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
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The permissions of a file; undefined where there is none. */
export async function modeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mode & 0o777
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
