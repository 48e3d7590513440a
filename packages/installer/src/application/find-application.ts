import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { lostConfig, noApplication } from '../failures/index.ts'
import { assertOwner } from './assert-owner.ts'

/**
 * The application folder: `given`, or the nearest folder from `from` upwards with an
 * app.config.json.
 * @throws {Failure} if there is none, or it cannot be read
 */
export function findApplication(given: string | undefined, from: string): string {
  const start = resolve(from, given ?? '.')
  for (let folder = start; ; folder = dirname(folder)) {
    if (holdsApplication(folder)) return folder
    if (given !== undefined || dirname(folder) === folder) break
  }
  const where = given === undefined ? `neither ${start} nor a folder above it has` : `${start} does not have`
  if (existsSync(join(start, '.app', 'identity.json'))) throw lostConfig({ directory: start })
  throw noApplication({ where })
}

/** The application folder for a command. Only its owner may run commands. */
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
