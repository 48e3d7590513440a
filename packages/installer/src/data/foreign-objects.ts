import { databaseAddress, readConfig } from '@mortise/application'
import { type ForeignObject, type ForeignParts, postgresData } from '@mortise/storage'
import { foreignText } from '../reporting/foreign-text.ts'

/** `the view "totals" of the role "analyst", on cart` */
export const describeForeign = ({ type, name, owner, needs }: ForeignObject): string =>
  `the ${type} "${name}" of the role "${owner}"${needs.length === 0 ? '' : `, on ${needs.join(', ')}`}`

/** @throws {StorageUnreachableError} */
export const foreignObjects = async (url: string): Promise<ForeignObject[]> =>
  await (await postgresData()).readForeignObjects(url)

/**
 * The tables and views in the application's schema that a backup leaves out, for people. Empty on
 * SQLite, whose file is copied as a whole, and while the server cannot be asked.
 */
export async function leftOut(directory: string): Promise<string[]> {
  const place = databaseAddress(await readConfig(directory))
  if ('file' in place) return []
  const objects = await foreignObjects(place.url).catch(() => [])
  return objects.filter(({ isInSchema }) => isInSchema).map(describeForeign)
}

/** What an archive has that no migration makes, for people. */
export const foreignLines = ({ removed, differences }: ForeignParts): string[] =>
  [
    removed.length > 0 ? `Left out, since no migration makes it: ${removed.join('; ')}` : '',
    differences.length > 0 ? `Differs from what the migrations make: ${differences.join('; ')}` : '',
  ].flatMap((line) => (line === '' ? [] : foreignText(line, 1000)))
