import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Failure } from './failure.ts'

/**
 * The application folder: `given`, or the nearest folder upwards from `from` that holds app.config.json.
 * @throws {Failure} where there is none
 */
export function findApplication(given: string | undefined, from: string): string {
  const start = resolve(from, given ?? '.')
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'app.config.json'))) return folder
    if (given !== undefined || dirname(folder) === folder) break
  }
  const where =
    given === undefined ? `neither ${start} nor a folder above it holds` : `${start} does not hold`
  throw new Failure(
    'usage',
    'no-application',
    `There is no application here: ${where} app.config.json.`,
    'Make one with "app init", or name its folder with --dir.',
  )
}
