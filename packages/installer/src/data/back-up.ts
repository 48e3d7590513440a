import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { configFile, type LockFile, readLockFile, secretFile } from '@mortise/application'
import { callApplication } from '@mortise/host'
import { readOptionalText, readText } from '@mortise/storage'
import { busyWith } from '../changes/command-lock.ts'
import { readJournal } from '../changes/journal.ts'
import { interrupted, noSecretToBackUp } from '../failures/index.ts'
import { whileBackingUp } from '../store/staging.ts'
import { CONFIG, DATA, LOCK, SECRET } from './archive-manifest.ts'
import { isRestorationLeft, readRestoration } from './restore-journal.ts'
import { assertFree, writeArchive } from './write-archive.ts'

export interface BackUp {
  readonly directory: string
  readonly file: string
  readonly withSecret: boolean
  /** The lock file to archive, if not the present one. */
  readonly lock?: LockFile
}

export interface BackedUp {
  readonly file: string
  readonly generation: number
  readonly bytes: number
  readonly parts: readonly string[]
}

/**
 * Writes data, lock file and configuration of one moment into a file. It takes no command lock. If
 * another command changes the application in the meantime, it copies again.
 */
export async function backUp({ directory, file, withSecret, ...other }: BackUp): Promise<BackedUp> {
  await assertFree(file)
  return await whileBackingUp(directory, async (folder) => {
    if (withSecret) await writeFile(join(folder, SECRET), await readSecret(directory), { mode: 0o600 })
    const { config, ...present } = await copyMoment(directory, join(folder, DATA))
    const { lock } = { ...present, ...other }
    await writeFile(join(folder, LOCK), `${JSON.stringify(lock, null, 2)}\n`)
    await writeFile(join(folder, CONFIG), config)
    const parts = [LOCK, CONFIG, ...(withSecret ? [SECRET] : []), DATA]
    const { generation } = lock
    const about = { kind: 'application', generation } as const
    const bytes = await writeArchive({ file, folder, names: parts, about })
    return { file, generation, bytes, parts }
  })
}

interface Moment {
  readonly lock: LockFile
  /** The text of app.config.json. */
  readonly config: string
}

/** Copies the database to `copy`, with a lock file and configuration that did not change. */
async function copyMoment(directory: string, copy: string): Promise<Moment> {
  for (;;) {
    await untilRestored(directory)
    const moment = await readMoment(directory)
    await callApplication(directory, 'backup', { file: copy })
    const isSame = isDeepStrictEqual(await readMoment(directory), moment)
    if (isSame && !isRestorationLeft(directory)) return moment
  }
}

/**
 * A schema that is ahead of the lock file is harmless. The configuration comes from the same
 * generation as the lock file, if that is recorded.
 */
async function readMoment(directory: string): Promise<Moment> {
  const lock = await readLockFile(directory)
  const { config, previous, next } = (await readJournal(directory).catch(() => undefined)) ?? {}
  if (config !== undefined && lock.generation === previous?.generation)
    return { lock, config: config.previous }
  if (config !== undefined && lock.generation === next?.generation) return { lock, config: config.next }
  return { lock, config: await readText(configFile(directory)) }
}

/**
 * During a restoration, data and lock file do not match.
 * @throws {Failure} if a killed command left a restoration
 */
async function untilRestored(directory: string): Promise<void> {
  while (isRestorationLeft(directory)) {
    const isAtWork = (await busyWith(directory)) !== undefined
    if (!isAtWork && (await readRestoration(directory)) !== undefined) throw interrupted()
    await sleep(100)
  }
}

async function readSecret(directory: string): Promise<string> {
  const secret = await readOptionalText(secretFile(directory))
  if (secret !== undefined) return secret
  throw noSecretToBackUp({ file: secretFile(directory) })
}
