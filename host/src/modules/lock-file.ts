import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '@mortise/storage'
import { type Static, Type } from '@sinclair/typebox'
import { firstError } from '../config/first-error.ts'
import { NewerHostError } from '../config/newer-host-error.ts'
import { clauseOf } from '../config/schema-errors.ts'
import { ConfigError } from '../config/settings.ts'
import { hostVersion } from '../config/version.ts'

/** One package in the store, as recorded in modules.lock.json. */
const packageProperties = {
  package: Type.String({ description: 'the npm package name' }),
  version: Type.String(),
  spec: Type.String({
    description: 'where it came from, in npm words; a folder or file relative to the application',
  }),
  integrity: Type.String({ description: 'SHA-512 of the package tarball (SRI)' }),
  tree: Type.String({ description: 'SHA-512 over every file in the store, dependencies included (SRI)' }),
  dependencies: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({ version: Type.String(), integrity: Type.Optional(Type.String()) }),
      {
        description:
          'what npm chose for its dependencies: the packages of a package-lock.json, without addresses',
      },
    ),
  ),
  signed: Type.Optional(
    Type.Object(
      { keyid: Type.String(), provenance: Type.Boolean() },
      { description: 'the key of its registry whose signature was verified; whether its provenance was' },
    ),
  ),
}

export const LockedPackage = Type.Object(packageProperties, { additionalProperties: false })
export type LockedPackage = Static<typeof LockedPackage>

export const LockedModule = Type.Object(
  { ...packageProperties, enabled: Type.Boolean() },
  { additionalProperties: false },
)
export type LockedModule = Static<typeof LockedModule>

/**
 * modules.lock.json: the single source of truth for what is installed. One atomic rename of it
 * makes one generation.
 */
export const Lock = Type.Object(
  {
    lockVersion: Type.Literal(1),
    generation: Type.Integer({ minimum: 0 }),
    host: Type.Optional(LockedPackage),
    modules: Type.Record(Type.String(), LockedModule, {
      description: 'by module id, in order of activation',
    }),
  },
  { additionalProperties: false },
)
export type Lock = Static<typeof Lock>

export const emptyLockFile: Lock = { lockVersion: 1, generation: 0, modules: {} }

/** Paths in an application folder. */
export const lockFilePath = (directory: string) => join(directory, 'modules.lock.json')
export const storeDirectory = (directory: string) => join(directory, '.app', 'store')

/** All packages of a lock, by module id or `host`. */
export function lockedPackages({ host, modules }: Lock): Map<string, LockedPackage & { enabled?: boolean }> {
  return new Map([...(host ? [['host', host] as const] : []), ...Object.entries(modules)])
}

/** The immutable folder of one installed package: `.app/store/<name>@<version>-<hash>`. */
export function storedModule(
  directory: string,
  locked: Pick<LockedPackage, 'package' | 'version' | 'tree'>,
): string {
  const hash = createHash('sha256').update(locked.tree).digest('hex').slice(0, 16)
  return join(storeDirectory(directory), `${locked.package.replace('/', '+')}@${locked.version}-${hash}`)
}

/**
 * modules.lock.json is missing or broken. What is installed is then unknown, which differs from
 * nothing installed.
 */
export class LockFileError extends ConfigError {
  override readonly name = 'LockFileError'
  /** The folder that should hold the lock. */
  readonly directory: string

  constructor(directory: string, reason: string, options?: ErrorOptions) {
    super(`${lockFilePath(directory)} ${reason}`, undefined, options)
    this.directory = directory
  }
}

/**
 * The difference between the lock and the package.json of a stored package; undefined if they
 * match.
 */
export function differenceOf(
  locked: Pick<LockedPackage, 'package' | 'version'>,
  found: { readonly name: string; readonly version: string },
): string | undefined {
  if (locked.package === found.name && locked.version === found.version) return undefined
  return `modules.lock.json has ${locked.package} ${locked.version}, and the package in its place is ${found.name} ${found.version}`
}

/**
 * @throws {NewerHostError} if its format is newer than this host
 * @throws {LockFileError} if the file is missing or no lock
 */
export async function readLockFile(directory: string): Promise<Lock> {
  const file = lockFilePath(directory)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new LockFileError(directory, 'is missing', { cause: error })
    if (code === 'EISDIR') throw new LockFileError(directory, 'is a folder', { cause: error })
    throw error
  }
  let lock: unknown
  try {
    lock = JSON.parse(text)
  } catch (error) {
    throw new LockFileError(directory, `is not JSON (${(error as Error).message})`, { cause: error })
  }
  const { lockVersion } = (lock ?? {}) as { lockVersion?: unknown }
  if (typeof lockVersion === 'number' && lockVersion > emptyLockFile.lockVersion) {
    throw new NewerHostError(
      `${file} was written by a newer host: its "lockVersion" is ${lockVersion}, and ${hostVersion} knows none above ${emptyLockFile.lockVersion}`,
    )
  }
  const wrong = firstError(Lock, lock)
  if (wrong) throw new LockFileError(directory, `is no lock: ${clauseOf(wrong)}`)
  return lock as Lock
}

/** Replaces the lock file durably and atomically: the commit point of every change. */
export async function writeLockFile(directory: string, lock: Lock): Promise<void> {
  await writeDurably(lockFilePath(directory), `${JSON.stringify(lock, null, 2)}\n`, 0o644)
}
