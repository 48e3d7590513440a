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
  writeIdentity,
  writeLockFile,
} from '@mortise/application'
import { makeReserve } from '@mortise/application/folder'
import { makeFolder, writeDurably, writeNewDurably } from '@mortise/storage'
import { lostConfig, noPlaceForApplication } from '../failures/index.ts'

// An application folder. app.config.json and modules.lock.json are committed; `.app/` and `data/`
// are not. A fresh clone has no `.app/`, so commands recreate what is missing. They never overwrite
// an existing file, except the generated schema.

const schemaPath = '.app/app.config.schema.json'

/** @returns the created paths, relative to the folder */
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
    // This file makes the folder an application, so it comes last.
    await makeFile(configFile(directory), `${JSON.stringify(config, null, 2)}\n`),
  ]
  return made.filter((path) => path !== undefined).map((path) => path.slice(directory.length + 1))
}

/** @throws {LockFileError} if something was installed: the lock file was lost, not absent */
async function makeLock(directory: string): Promise<string | undefined> {
  if (existsSync(lockFilePath(directory))) return undefined
  const stored = await readdir(storeDirectory(directory)).catch(() => [])
  if (stored.length > 0 || (await newestGeneration(directory)) !== undefined) await readLockFile(directory)
  await writeLockFile(directory, emptyLockFile)
  return lockFilePath(directory)
}

/** Allows a new database in a fresh clone: without `.app/`, there was no earlier one. */
export async function beginInClone(directory: string): Promise<void> {
  if (!existsSync(join(directory, '.app'))) await writeIdentity(directory, newIdentity)
}

/** Allows a new database, unless an identity exists. */
async function makeIdentity(directory: string): Promise<string | undefined> {
  if ((await readIdentity(directory)) !== undefined) return undefined
  const config = await readConfig(directory).catch(() => undefined)
  if (config?.databaseFile !== undefined && existsSync(config.databaseFile)) return undefined
  await writeIdentity(directory, newIdentity)
  return identityFile(directory)
}

/** Allows another database or secret at the next start, for each member that is null in `part`. */
export async function renewIdentity(directory: string, part: Partial<Identity>): Promise<void> {
  await writeIdentity(directory, { ...newIdentity, ...(await readIdentity(directory)), ...part })
}

/** The note about a new secret in `made`, if the application may have had another one. */
export function newSecretNote(directory: string, made: readonly (string | undefined)[]): string | undefined {
  if (!made.includes(secretFile(directory)) || process.env.APP_SECRET) return undefined
  return `Created a new secret, ${secretFile(directory)}: tokens signed with a previous secret are invalid now.`
}

/** Creates missing files that are not committed. */
export async function completeClone(directory: string): Promise<(string | undefined)[]> {
  const made = [
    await makeMissing(join(directory, '.app'), 0o700),
    // The command creates this folder, so that the host can read the files that root leaves in it.
    await makeMissing(join(directory, '.app', 'audit'), 0o700),
    await makeMissing(join(directory, 'data'), 0o700),
    // The start reports a lost secret.
    (await readIdentity(directory))?.secret
      ? undefined
      : await makeFile(secretFile(directory), `${randomBytes(32).toString('base64url')}\n`, 0o600),
    await writeConfigSchema(directory),
  ]
  await makeReserve(directory)
  return made
}

/** For editors. Returns the file, if it had to be written. */
export async function writeConfigSchema(directory: string): Promise<string | undefined> {
  const file = join(directory, schemaPath)
  const text = `${JSON.stringify(await schemaOf(directory), forWriters, 2)}\n`
  const present = await readFile(file, 'utf8').catch(() => undefined)
  if (present === text) return undefined
  await writeDurably(file, text)
  return file
}

/** A replacer for JSON.stringify. */
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
  if (found) throw noPlaceForApplication({ path: folder, parent: dirname(folder) })
  await makeFolder(folder, mode)
  return folder
}
