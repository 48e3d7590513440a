import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { readConfig } from '@mortise/application'
import { unusedPath } from '@mortise/application/folder'
import { makeFolder } from '@mortise/storage'
import { findApplication } from '../application/find-application.ts'
import { archiveFailed } from '../failures/index.ts'
import { assertRoom, sizeOfDatabase } from './disk-room.ts'

// Commands archive data before they drop them: purged modules in `.app/purged/`, and the database
// before migrations are undone in `.app/undone/`. Archives stay until the operator deletes them.

export type ArchiveFolder = 'purged' | 'undone'

const folderOf = (directory: string, name: ArchiveFolder) => join(directory, '.app', name)

/**
 * Creates the folder for archives. Checks that this user may write there, and that the disk has
 * room for a copy and an archive of the database. The size of a PostgreSQL database is unknown in
 * advance.
 * @throws {Failure} before any change
 */
export async function assertArchivable(directory: string, name: ArchiveFolder): Promise<void> {
  const folder = folderOf(directory, name)
  try {
    await makeFolder(folder, 0o700)
    await access(folder, constants.W_OK | constants.X_OK)
    const { databaseFile } = await readConfig(directory)
    if (databaseFile !== undefined) await assertRoom(folder, 2 * (await sizeOfDatabase(databaseFile)))
  } catch (error) {
    throw archiveFailed({ folder, reason: (error as Error).message, cause: error })
  }
}

/** @returns the path of a new file, relative to the application folder */
export async function freeArchive(directory: string, folder: ArchiveFolder, name: string): Promise<string> {
  await makeFolder(folderOf(directory, folder), 0o700)
  return relative(directory, unusedPath(join(folderOf(directory, folder), name), '.tgz'))
}

/** The newest archive of a purge of each of these modules, relative to the application folder. */
export async function purgedArchives(directory: string, modules: readonly string[]): Promise<string[]> {
  const folder = folderOf(directory, 'purged')
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const ofModule = (id: string) => (name: string) =>
    name.startsWith(`${id}-`) && /^\d+(?:-\d+)?\.tgz$/.test(name.slice(id.length + 1))
  const inOrder = names.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  const newest = modules.flatMap((id) => inOrder.findLast(ofModule(id)) ?? [])
  return newest.map((name) => relative(directory, join(folder, name)))
}

/** The command that restores an archive, for the same working directory. */
export function restoreCommand(directory: string, archive: string): string {
  const file = join(directory, archive)
  if (!isFoundFrom(process.cwd(), directory)) return `app restore ${quoted(file)} --dir ${quoted(directory)}`
  return `app restore ${quoted(relative(process.cwd(), file))}`
}

function isFoundFrom(folder: string, directory: string): boolean {
  try {
    return findApplication(undefined, folder) === directory
  } catch {
    return false
  }
}

/** Quotes a path as one word for a shell. */
const quoted = (path: string) => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)
