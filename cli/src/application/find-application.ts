import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../terminal/failure.ts'
import { assertOwner } from './assert-owner.ts'

/**
 * The application folder: `given`, or the nearest folder upwards from `from` that holds app.config.json.
 * @throws {Failure} where there is none, or it is not to be seen
 */
export function findApplication(given: string | undefined, from: string): string {
  const start = resolve(from, given ?? '.')
  for (let folder = start; ; folder = dirname(folder)) {
    if (holdsApplication(folder)) return folder
    if (given !== undefined || dirname(folder) === folder) break
  }
  const where =
    given === undefined ? `neither ${start} nor a folder above it holds` : `${start} does not hold`
  if (existsSync(join(start, '.app', 'identity.json'))) throw lostConfig(start)
  throw new Failure(
    'usage',
    'no-application',
    `There is no application here: ${where} app.config.json.`,
    'Make one with "app init", or name its folder with --dir.',
  )
}

/** Another configuration would name another issuer, and its callers would be strangers to their data. */
export function lostConfig(directory: string): Failure {
  return new Failure(
    'usage',
    'config-lost',
    `app.config.json is missing in ${directory}, which holds an application. Nothing was changed.`,
    'Restore it from version control (git checkout app.config.json) or from a backup, which holds it: tar xzf <backup> app.config.json',
  )
}

/** The same, for a command: every one is for the owner of the application alone. @throws {Failure} */
export function ownApplication(given: string | undefined, from: string): string {
  const directory = findApplication(given, from)
  assertOwner(directory)
  return directory
}

function holdsApplication(folder: string): boolean {
  try {
    return statSync(join(folder, 'app.config.json'), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') return false
    assertOwner(folder)
    throw error
  }
}
