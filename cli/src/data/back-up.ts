import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { configFile, copyDatabase, type Lock, readLock, secretFile } from '../host.ts'
import { makeStaging } from '../install/staging.ts'
import { CONFIG, DATA, LOCK, SECRET } from './archive-manifest.ts'
import { askDatabase } from './ask-database.ts'
import { assertFree, writeArchive } from './write-archive.ts'

export interface BackUp {
  readonly directory: string
  readonly file: string
  readonly withSecret: boolean
  /** What is archived as installed, where that is not the present lock. */
  readonly lock?: Lock
}

export interface BackedUp {
  readonly file: string
  readonly generation: number
  readonly bytes: number
  readonly parts: readonly string[]
}

/**
 * Writes data, lock and configuration into one file. Run it while the application is locked: then no command
 * changes the lock, so lock and data belong together.
 * @throws {Failure}
 */
export async function backUp({ directory, file, withSecret, ...other }: BackUp): Promise<BackedUp> {
  await assertFree(file)
  const folder = await makeStaging(directory)
  await chmod(folder, 0o700)
  const lock = other.lock ?? (await readLock(directory))
  await writeFile(join(folder, LOCK), `${JSON.stringify(lock, null, 2)}\n`)
  await writeFile(join(folder, CONFIG), await readFile(configFile(directory)))
  if (withSecret) await writeFile(join(folder, SECRET), await readSecret(directory), { mode: 0o600 })
  const copy = join(folder, DATA)
  await askDatabase({ directory, path: '/backup', body: { file: copy } }, () => copyDatabase(directory, copy))
  const parts = [LOCK, CONFIG, ...(withSecret ? [SECRET] : []), DATA]
  const { generation } = lock
  const bytes = await writeArchive({ file, folder, names: parts, about: { kind: 'application', generation } })
  return { file, generation, bytes, parts }
}

async function readSecret(directory: string): Promise<Buffer> {
  try {
    return await readFile(secretFile(directory))
  } catch (error) {
    throw new Failure(
      'notFound',
      'no-secret',
      `The secret cannot be read: ${(error as Error).message}.`,
      'Leave --with-secret out where the secret comes from APP_SECRET.',
      { cause: error },
    )
  }
}
