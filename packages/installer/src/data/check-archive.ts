import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { isModuleId, type LockFile, parseSecrets, readLockFile } from '@mortise/application'
import {
  type ForeignParts,
  findCorruption,
  parseJson,
  readFileContents,
  readText,
  takeOutForeign,
} from '@mortise/storage'
import { badArchive } from '../failures/index.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import { type ArchiveManifest, CONFIG, DATA, SECRET } from './archive-manifest.ts'
import { readArchive } from './read-archive.ts'

// An archive may come from anybody. Everything in it is checked before anything is replaced, by
// "app backup verify" and "app restore" alike.

export interface CheckedArchive {
  readonly manifest: ArchiveManifest
  /** Of an application. */
  readonly lock: LockFile | undefined
  /** The rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** What its database had that no migration makes, which is removed from the unpacked one. */
  readonly foreign: ForeignParts
}

/** What a secret may have, in bytes. A longer one is none that a command has made. */
const SECRET_BYTES = { fewest: 32, most: 4096 }
const SQLITE = 'SQLite format 3\0'

/**
 * Unpacks an archive into the empty `folder`, and checks all parts. After a failure, delete the
 * folder.
 * @param directory the application, whose packages have the migrations
 * @throws {Failure} not found (3), or no sound archive of an application or a module (4)
 */
export async function checkArchive(directory: string, file: string, folder: string): Promise<CheckedArchive> {
  const manifest = await readArchive(file, folder)
  try {
    const lock = manifest.kind === 'application' ? await readLockFile(folder) : undefined
    if (lock !== undefined) await checkConfig(join(folder, CONFIG))
    if (Object.hasOwn(manifest.parts, SECRET)) checkSecret(await readText(join(folder, SECRET)))
    const data = join(folder, DATA)
    await assertDatabase(data)
    const { ledger, rows: all } = readFileContents(data)
    const stranger = ledger.find(({ module }) => !isModuleId(module))
    if (stranger !== undefined)
      throw new Error(`its database has a migration of ${JSON.stringify(stranger.module.slice(0, 64))}`)
    const modules = new Set(ledger.map(({ module }) => module))
    if (lock === undefined) assertOfModule(manifest.module as string, modules)
    else if (modules.size > 0 || Object.keys(all).length > 0 || Object.keys(lock.modules).length > 0)
      assertOfApplication(modules)
    const foreign = await takeOutForeign(data, await storedMigrations(directory))
    return { manifest, lock, rows: readFileContents(data).rows, foreign }
  } catch (error) {
    const reason = (error as Error).message.replaceAll(`${folder}/`, '')
    throw badArchive({ file, reason, cause: error })
  }
}

async function assertDatabase(data: string): Promise<void> {
  const handle = await open(data)
  try {
    const { buffer } = await handle.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0)
    if (buffer.toString('latin1') !== SQLITE) throw new Error(`${DATA} is not a database`)
  } finally {
    await handle.close()
  }
  const damage = findCorruption(data)
  if (damage !== undefined) throw new Error(`its database is damaged: ${damage}`)
}

function assertOfModule(module: string, found: ReadonlySet<string>): void {
  if (found.size === 1 && found.has(module)) return
  throw new Error(`its database is not that of ${module}, which its manifest names`)
}

/** Not for an application that was never started: it has no tables. */
function assertOfApplication(found: ReadonlySet<string>): void {
  if (found.has('host')) return
  throw new Error('its database is not that of an application: it has none of the tables of the host')
}

async function checkConfig(file: string): Promise<void> {
  const wrong = (reason: string) => new Error(`${CONFIG} ${reason}`)
  const value = parseJson(await readText(file), wrong)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('is no JSON object')
}

/** Never with the secret in the message. */
function checkSecret(text: string): void {
  const { secret, previousSecrets } = parseSecrets(text)
  const { fewest, most } = SECRET_BYTES
  const wrong = [secret, ...previousSecrets.map((previous) => previous.secret)].find(
    ({ length }) => length < fewest || length > most,
  )
  if (wrong !== undefined)
    throw new Error(`a secret in it has ${wrong.length} bytes, and needs ${fewest} to ${most}`)
  if (/(?![\t\n\r])\p{Cc}|\ufffd/u.test(text)) throw new Error('its secret is no text')
}
