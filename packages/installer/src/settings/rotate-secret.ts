import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import {
  assertOwnSecret,
  formatSecrets,
  parseSecrets,
  readConfig,
  readIdentity,
  rememberSecret,
  rotated,
  secretFile,
  writePendingRecord,
} from '@mortise/application'
import { namingFullFolder } from '@mortise/application/folder'
import { callApplication, callRunningHost, hostLabel } from '@mortise/host'
import { readOptionalText, writeDurably } from '@mortise/storage'
import { doneRecord } from '../changes/audit-record.ts'
import { withCommandLock } from '../changes/command-lock.ts'
import { deliverRecords } from '../changes/deliver-records.ts'
import { noSecretToRotate, overlapUnknown, secretElsewhere } from '../failures/index.ts'
import { hostVariables } from './host-variables.ts'

/** Hosts accept an expired token for so long, in milliseconds, because clocks differ. */
const TOLERANCE = 30_000

export interface Rotation {
  readonly file: string
  /** When the previous secret ends; null if it has ended. */
  readonly until: string | null
  /** Whether a running host uses the new secret. */
  readonly live: boolean
  /** Other hosts of the database, which may have a folder of their own. */
  readonly hosts: readonly string[]
}

/**
 * Replaces the secret. The one rename of `.app/secret` is the commit: it also says until when the
 * previous secret verifies. A running host reads it at once.
 * @param overlap in seconds; undefined: until the last token that `app token` minted expires
 * @throws {Failure} before any change
 */
export async function rotateSecret(
  directory: string,
  overlap: number | undefined,
  note: (text: string) => void,
): Promise<Rotation> {
  return await withCommandLock(directory, 'secret rotate', () =>
    namingFullFolder(directory, () => rotate(directory, overlap, note)),
  )
}

async function rotate(
  directory: string,
  overlap: number | undefined,
  note: (text: string) => void,
): Promise<Rotation> {
  const file = secretFile(directory)
  await assertInFile(directory, file)
  const hosts = await otherHosts(directory)
  if (hosts.length > 0) {
    note(
      `Other hosts of the database have the secret from a file of their own, or from APP_SECRET: ${hosts.join(', ')}`,
    )
  }
  const present = parseSecrets((await readOptionalText(file)) ?? '')
  const next = Buffer.from(randomBytes(32).toString('base64url'))
  const begun = Date.now()
  const end = async () => (overlap === undefined ? await lastExpiry(directory) : begun + overlap * 1000)
  const until = Math.max(await end(), begun)
  const details = { command: 'secret rotate', until: new Date(until).toISOString() }
  await writePendingRecord(directory, doneRecord('secret', 'secret', details))
  await chmod(file, 0o600)
  const write = (time: number) => writeDurably(file, formatSecrets(rotated(present, next, time, begun)))
  await write(until)
  // A token that was signed meanwhile has its record by now, or is signed again.
  const later = overlap === undefined ? await lastExpiry(directory).catch(() => until) : until
  if (later > until) await write(later)
  const renewed = await callRunningHost(directory, 'renewSecrets')
  await rememberSecret(await readConfig(directory))
  await deliverRecords(directory)
  const last = Math.max(until, later)
  return {
    file,
    until: last > begun ? new Date(last).toISOString() : null,
    live: renewed !== undefined,
    hosts,
  }
}

/** @throws {Failure} if the application, or its running host, does not take the secret from the file */
async function assertInFile(directory: string, file: string): Promise<void> {
  if (process.env.APP_SECRET !== undefined) throw secretElsewhere({ source: 'APP_SECRET', file })
  const config = await readConfig(directory)
  const host = await callRunningHost(directory, 'environment')
  const isOther = host?.APP_SECRET !== undefined && !isIn(config, host.APP_SECRET)
  if (isOther || (await hostVariables(directory)).includes('APP_SECRET'))
    throw secretElsewhere({ source: 'APP_SECRET in the environment of the running host', file })
  assertOwnSecret(config, await readIdentity(directory))
  if (config.secret === undefined) throw noSecretToRotate({ file, directory })
}

function isIn({ secret, previousSecrets }: Awaited<ReturnType<typeof readConfig>>, text: string): boolean {
  const known = [secret, ...previousSecrets.map((previous) => previous.secret)]
  return known.some((one) => one !== undefined && Buffer.from(one).equals(Buffer.from(text)))
}

/** @throws {Failure} if the database cannot be asked */
async function lastExpiry(directory: string): Promise<number> {
  try {
    const { lastExpiry } = await callApplication(directory, 'tokens')
    return lastExpiry === null ? 0 : lastExpiry + TOLERANCE
  } catch (error) {
    throw overlapUnknown({ reason: (error as Error).message, cause: error })
  }
}

async function otherHosts(directory: string): Promise<string[]> {
  const { databaseFile } = await readConfig(directory)
  if (databaseFile !== undefined) return []
  const found = await callApplication(directory, 'hosts').catch(() => undefined)
  return (found?.others ?? []).map(hostLabel)
}
