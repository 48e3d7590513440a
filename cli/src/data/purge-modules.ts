import { existsSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beginRecord } from '../audit/begin-record.ts'
import { Failure } from '../failure.ts'
import {
  copyDatabase,
  extractModule,
  type Lock,
  MigrationError,
  type OperatorRecord,
  openStorage,
  purgeModule,
  readLock,
  type Storage,
  syncPath,
} from '../host.ts'
import { readGenerations } from '../install/generations.ts'
import { installedId } from '../install/source.ts'
import { makeStaging } from '../install/staging.ts'
import { applicationSchema } from './application-schema.ts'
import { DATA } from './archive-manifest.ts'
import { askDatabase, askHost } from './ask-database.ts'
import { writeArchive } from './write-archive.ts'

export interface Purged {
  readonly module: string
  readonly tables: readonly string[]
  /** `app restore` brings the tables back from it; relative to the application folder. */
  readonly archive: string
}

/**
 * Drops the tables of modules that are not installed any more, each after an archive of them is on the disk. The
 * removal precedes the archive, so that no row is acknowledged that the archive does not have. Killed
 * on the way, it leaves data that nobody uses, and at most an archive too many: repeating it purges them.
 *
 * @param names ids or package names; those without data are left out
 * @throws {Failure}
 */
export async function purgeModules(directory: string, names: readonly string[]): Promise<Purged[]> {
  const lock = await readLock(directory)
  const ids = (await idsOf(directory, lock, names)).filter((id) => !Object.hasOwn(lock.modules, id))
  if (ids.length === 0) return []
  await askHost({ directory, path: '/retired' })
  const copy = join(await privateStaging(directory), 'copy.db')
  await askDatabase({ directory, path: '/backup', body: { file: copy } }, () => copyDatabase(directory, copy))
  const purged: Purged[] = []
  for (const id of ids) {
    const folder = await privateStaging(directory)
    const data = extractModule(copy, id, join(folder, DATA))
    if (data === undefined) {
      // It may have got on with events all the same.
      await drop(directory, id, {})
      continue
    }
    const archive = await freeName(directory, `${id}-${lock.generation}`)
    const about = { kind: 'module', module: id, generation: lock.generation } as const
    await writeArchive({ file: join(directory, archive), folder, names: [DATA], about })
    const { tables } = data
    await drop(directory, id, { archive, tables })
    purged.push({ ...data, archive })
  }
  return purged
}

/** @param details of its record, unless there are no tables */
async function drop(directory: string, module: string, details: OperatorRecord['details']): Promise<void> {
  const record = { ...beginRecord('purge', module, details), outcome: 'done' } as const
  await askDatabase({ directory, path: '/purge', body: { module, record } }, () =>
    purgeModule(directory, module, record),
  )
}

/**
 * Tries to purge modules, installed or not, on an empty database with the schema of the application's.
 * @returns their ids, those that others refer to last
 * @throws {Failure} where that is refused: nothing has changed then
 */
export async function purgeOrder(directory: string, names: readonly string[]): Promise<string[]> {
  const schema = await applicationSchema(directory)
  const file = join(await privateStaging(directory), 'rehearsal.db')
  const storage = await openStorage({ file, schema, onFatal: rethrow })
  const left = new Set(await idsOf(directory, await readLock(directory), names))
  const order: string[] = []
  try {
    while (left.size > 0) {
      const refusals: MigrationError[] = []
      for (const id of left) {
        const refusal = await purgeRefusal(storage, id)
        if (refusal !== undefined) refusals.push(refusal)
        else order.push(id)
      }
      if (refusals.length === left.size) throw notPurgeable(refusals[0] as MigrationError)
      for (const id of order) left.delete(id)
    }
    return order
  } finally {
    await storage.close()
  }
}

async function purgeRefusal(storage: Storage, id: string): Promise<MigrationError | undefined> {
  try {
    await storage.purge(id)
    return undefined
  } catch (error) {
    if (error instanceof MigrationError) return error
    throw error
  }
}

function notPurgeable(cause: MigrationError): Failure {
  return new Failure(
    'refused',
    'not-purgeable',
    `The data cannot be dropped: ${cause.message}.`,
    'Nothing was changed. Mend what it says, or remove the module without --purge.',
    { cause },
  )
}

/** The ids of modules that are installed, or were once, under these names. */
async function idsOf(directory: string, lock: Lock, names: readonly string[]): Promise<string[]> {
  const locks = [lock, ...(await readGenerations(directory)).map((past) => past.lock).toReversed()]
  const ids = names.map((name) => {
    for (const past of locks) {
      const id = installedId(past, name)
      if (id !== undefined) return id
    }
    return name
  })
  return [...new Set(ids)]
}

async function privateStaging(directory: string): Promise<string> {
  const folder = await makeStaging(directory)
  await chmod(folder, 0o700)
  return folder
}

async function freeName(directory: string, name: string): Promise<string> {
  const folder = join('.app', 'purged')
  await mkdir(join(directory, folder), { recursive: true, mode: 0o700 })
  await syncPath(dirname(join(directory, folder)))
  for (let number = 1; ; number++) {
    const path = join(folder, `${name}${number === 1 ? '' : `-${number}`}.tgz`)
    if (!existsSync(join(directory, path))) return path
  }
}

function rethrow(error: Error): never {
  throw error
}
