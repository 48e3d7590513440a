import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  configFile,
  configSchema,
  emptyLockFile,
  type Identity,
  identityFile,
  lockFilePath,
  makeFolder,
  newestGeneration,
  newIdentity,
  readConfig,
  readIdentity,
  readLockFile,
  readPackage,
  secretFile,
  storeDirectory,
  storedModule,
  withoutDefaulted,
  writeDurably,
  writeIdentity,
  writeLockFile,
  writeNewDurably,
} from '@mortise/host'
import { lostConfig, noPlaceForApplication } from '../failures/index.ts'

// An application folder: app.config.json and modules.lock.json, which are committed; `.app/` and `data/`, which are
// not. `.app/` is therefore missing in a fresh clone, and what is missing is made again: no file that exists is ever
// overwritten, but the generated schema.

const schemaPath = '.app/app.config.schema.json'

/**
 * Makes what an application folder lacks.
 * @returns the paths that were made, relative to it
 */
export async function completeApplication(directory: string): Promise<string[]> {
  await makeMissing(directory)
  const isLost = !existsSync(configFile(directory)) && (await readIdentity(directory))?.database
  if (isLost) throw lostConfig({ directory })
  const config = {
    $schema: `./${schemaPath}`,
    name: basename(directory).slice(0, 100) || 'Mortise application',
    auth: { issuer: `urn:uuid:${randomUUID()}` },
  }
  const made = [
    await makeLock(directory),
    ...(await completeClone(directory)),
    await makeIdentity(directory),
    await makeFile(join(directory, '.gitignore'), '.app/\ndata/\n'),
    // Last: with it the folder is an application.
    await makeFile(configFile(directory), `${JSON.stringify(config, null, 2)}\n`),
  ]
  return made.filter((path) => path !== undefined).map((path) => path.slice(directory.length + 1))
}

/**
 * An application with nothing installed says so in its lock.
 * @throws {LockFileError} where something was installed here: a lost lock is no empty one
 */
async function makeLock(directory: string): Promise<string | undefined> {
  if (existsSync(lockFilePath(directory))) return undefined
  const stored = await readdir(storeDirectory(directory)).catch(() => [])
  if (stored.length > 0 || (await newestGeneration(directory)) !== undefined) await readLockFile(directory)
  await writeLockFile(directory, emptyLockFile)
  return lockFilePath(directory)
}

/** In a fresh clone, which has no `.app/`, allows a new database: nothing was ever here that could be lost. */
export async function beginInClone(directory: string): Promise<void> {
  if (!existsSync(join(directory, '.app'))) await writeIdentity(directory, newIdentity)
}

/** Allows a new database, unless there is one. */
async function makeIdentity(directory: string): Promise<string | undefined> {
  if ((await readIdentity(directory)) !== undefined) return undefined
  const config = await readConfig(directory).catch(() => undefined)
  if (config?.databaseFile !== undefined && existsSync(config.databaseFile)) return undefined
  await writeIdentity(directory, newIdentity)
  return identityFile(directory)
}

/** Allows another or a new database, or another secret, at the next start: what `part` has null. */
export async function renewIdentity(directory: string, part: Partial<Identity>): Promise<void> {
  await writeIdentity(directory, { ...newIdentity, ...(await readIdentity(directory)), ...part })
}

/** What to say where `made` has a new secret in an application that may have had another one. */
export function newSecretNote(directory: string, made: readonly (string | undefined)[]): string | undefined {
  if (!made.includes(secretFile(directory)) || process.env.APP_SECRET) return undefined
  return `Made a new secret, ${secretFile(directory)}: tokens that were signed with a former one no longer hold.`
}

/** Makes what is not committed, where it is missing. */
export async function completeClone(directory: string): Promise<(string | undefined)[]> {
  return [
    await makeMissing(join(directory, '.app'), 0o700),
    // Here, so that the host may read what root leaves there.
    await makeMissing(join(directory, '.app', 'audit'), 0o700),
    await makeMissing(join(directory, 'data'), 0o700),
    // One that is lost is missed at the start.
    (await readIdentity(directory))?.secret
      ? undefined
      : await makeFile(secretFile(directory), `${randomBytes(32).toString('base64url')}\n`, 0o600),
    await writeConfigSchema(directory),
  ]
}

/**
 * Writes the schema that editors complete app.config.json with: the host's, and the settings of what is
 * installed.
 * @returns the file, where it had to be written
 */
export async function writeConfigSchema(directory: string): Promise<string | undefined> {
  const file = join(directory, schemaPath)
  const text = `${JSON.stringify(await schemaOf(directory), forWriters, 2)}\n`
  const present = await readFile(file, 'utf8').catch(() => undefined)
  if (present === text) return undefined
  await writeDurably(file, text)
  return file
}

/** A replacer of JSON.stringify. */
const forWriters = (_key: string, value: unknown) =>
  typeof value === 'object' && value !== null ? withoutDefaulted(value as never) : value

async function schemaOf(directory: string): Promise<unknown> {
  const { modules } = await readLockFile(directory)
  const settings = await Promise.all(
    Object.entries(modules).map(async ([id, locked]) => {
      const stored = await readPackage(storedModule(directory, locked)).catch(() => undefined)
      return [id, stored?.settingsSchema ?? { type: 'object' }] as const
    }),
  )
  const properties = { ...configSchema.properties.modules, properties: Object.fromEntries(settings) }
  return { ...configSchema, properties: { ...configSchema.properties, modules: properties } }
}

async function makeFile(file: string, text: string, mode = 0o644): Promise<string | undefined> {
  try {
    await writeNewDurably(file, text, mode)
    return file
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!(await stat(file)).isDirectory()) return undefined
    throw Object.assign(error as NodeJS.ErrnoException, { code: 'EISDIR' })
  }
}

async function makeMissing(folder: string, mode = 0o755): Promise<string | undefined> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) return undefined
  if (found) {
    throw noPlaceForApplication({ path: folder, parent: dirname(folder) })
  }
  await makeFolder(folder, mode)
  return folder
}
