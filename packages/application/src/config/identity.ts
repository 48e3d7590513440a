import { randomUUID } from 'node:crypto'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { DatabaseError, one, run, sql, type Transaction } from '@mortise/module-sdk'
import {
  makeFolder,
  parseJson,
  readOptionalText,
  type Storage,
  syncPath,
  writeDurably,
} from '@mortise/storage'
import { type Static, Type } from '@sinclair/typebox'
import { type Config, nameOfDatabase, nameOfSecret } from './config.ts'
import { type DatabaseId, recordedId } from './database-id.ts'
import { compileSchema } from './first-error.ts'
import { fingerprintOf } from './secrets.ts'
import { ConfigError } from './settings.ts'

// An application stores in `.app/identity.json` the id of its database, which the database has too,
// and a fingerprint of its signing secret. Each start compares both, so a lost or another database is
// never taken for a new one.
//
// Without `database`, in a fresh clone and after `app restore`, the next start adopts the existing
// database. With `database: null`, after `app init` and `--new-database`, it also makes a new one.
// A database without an id gets one then.

export const Identity = Type.Object({
  database: Type.Optional(Type.Union([Type.Null(), Type.Object({ id: Type.String(), name: Type.String() })])),
  secret: Type.Union([Type.Null(), Type.Object({ fingerprint: Type.String(), name: Type.String() })]),
})
export type Identity = Static<typeof Identity>

export const newIdentity: Identity = { database: null, secret: null }

export const identityProblems = ['database-lost', 'other-database', 'secret-lost', 'other-secret'] as const

/** The database or the secret does not belong to the application; the message names both. */
export class IdentityError extends ConfigError {
  override readonly name = 'IdentityError'
  readonly code: (typeof identityProblems)[number]
  readonly directory: string

  constructor(code: IdentityError['code'], directory: string, message: string) {
    super(message)
    this.code = code
    this.directory = directory
  }
}

export const identityFile = (directory: string) => join(directory, '.app', 'identity.json')

/** @throws {ConfigError} if the file is broken */
export async function readIdentity(directory: string): Promise<Identity | undefined> {
  const file = identityFile(directory)
  const text = await readOptionalText(file)
  if (text === undefined) return undefined
  const broken = () =>
    new ConfigError(
      `${file} is broken: restore it, or remove it to let the next start adopt the present database`,
    )
  const value = parseJson(text, broken)
  if (compileSchema(Identity)(value)) return value as Identity
  throw broken()
}

export async function writeIdentity(directory: string, identity: Identity): Promise<void> {
  const file = identityFile(directory)
  await makeFolder(dirname(file), 0o700)
  await writeDurably(file, `${JSON.stringify(identity, null, 2)}\n`)
}

/** `isEmpty`: no application is in it yet, so the next start may also make one. */
export async function removeDatabaseIdentity(directory: string, isEmpty = false): Promise<void> {
  const { secret = null } = (await readIdentity(directory)) ?? {}
  await writeIdentity(directory, { ...(isEmpty && { database: null }), secret })
}

/** @throws {IdentityError} unless `found` is the id of the application's own database */
export function assertOwnDatabase(config: Config, identity: Identity | undefined, found: DatabaseId): void {
  const name = nameOfDatabase(config)
  const own = identity?.database
  const wrong = (code: IdentityError['code'], message: string) =>
    new IdentityError(code, config.directory, message)
  if (found === undefined) {
    if (own === null) return
    if (own && own.name !== locationOf(config)) {
      throw wrong(
        'other-database',
        `There is no database in ${name}. The data of this application are in ${own.name} (.app/identity.json)`,
      )
    }
    const whose = own ? 'It held the data of this application' : 'This folder never had a database'
    throw wrong('database-lost', `There is no database in ${name}. ${whose} (.app/identity.json)`)
  }
  if (!own || found === own.id) return
  const was =
    own.name === locationOf(config)
      ? 'another database was there at the last start'
      : `its own is ${own.name}`
  throw wrong(
    'other-database',
    `${name} is not the database of this application: ${was}. It has ${found === null ? 'no id' : `the id ${found}`}, expected: ${own.id}`,
  )
}

/**
 * @throws {IdentityError} if the secret differs from that of the application's last start, and did
 * not follow it in a rotation
 */
export function assertOwnSecret(config: Config, identity: Identity | undefined): void {
  const own = identity?.secret
  const { directory, secret, previousSecrets } = config
  const isOwn = ({ secret }: Pick<Config, 'secret'>) => secret && fingerprintOf(secret) === own?.fingerprint
  if (!own || isOwn(config) || previousSecrets.some(isOwn)) return
  const name = nameOfSecret(config)
  if (secret === undefined) {
    throw new IdentityError(
      'secret-lost',
      directory,
      `The secret of this application is missing: neither ${name} nor APP_SECRET has it. At the last start it came from ${own.name}`,
    )
  }
  throw new IdentityError(
    'other-secret',
    directory,
    `The secret in ${name} differs from the secret of the last start, which came from ${own.name}. The host refuses tokens that were signed with the other secret`,
  )
}

/** Gives the database an id if it has none, and stores it together with the secret. */
export async function remember(config: Config, storage: Storage): Promise<void> {
  const adopt = () => storage.transaction(() => adoptId(randomUUID()))
  // Repeated if the outcome of the first commit is unknown: both leave the same id.
  const { id } = await adopt().catch((error) => {
    if (error instanceof DatabaseError && error.kind === 'unknown-outcome') return adopt()
    throw error
  })
  const identity = { database: { id, name: locationOf(config) }, secret: secretIdentity(config) }
  if (isDeepStrictEqual(await readIdentity(config.directory), identity)) {
    // A previous start may have failed to sync it.
    await syncPath(dirname(identityFile(config.directory)))
  } else {
    await writeIdentity(config.directory, identity)
  }
}

/** Stores a secret that follows the application's own. */
export async function rememberSecret(config: Config): Promise<void> {
  const identity = await readIdentity(config.directory)
  const secret = secretIdentity(config)
  if (identity === undefined || isDeepStrictEqual(identity.secret, secret)) return
  await writeIdentity(config.directory, { ...identity, secret })
}

function secretIdentity(config: Config): Identity['secret'] {
  const { secret } = config
  return secret === undefined ? null : { fingerprint: fingerprintOf(secret), name: nameOfSecret(config) }
}

/** Another host may do the same at this moment. */
function* adoptId(id: string): Transaction<{ id: string }> {
  yield* run(sql`INSERT INTO mortise_identity (id) VALUES (${id}) ON CONFLICT DO NOTHING`)
  return yield* one<{ id: string }>(recordedId)
}

/** Stays valid if the folder is moved. */
function locationOf(config: Config): string {
  const { databaseFile, directory } = config
  const inside = databaseFile && relative(directory, databaseFile)
  return inside && !inside.startsWith('..') && !isAbsolute(inside) ? inside : nameOfDatabase(config)
}
