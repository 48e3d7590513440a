import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Manifest } from '@mortise/module-sdk/host'
import { parseJson, readText, writeDurably } from '@mortise/storage'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { firstError } from '../config/first-error.ts'
import { NewerHostError } from '../config/newer-host-error.ts'
import { clauseOf } from '../config/schema-errors.ts'
import { ConfigError } from '../config/settings.ts'
import { decisionOf, decisionProperties } from './decision.ts'
import { isLoaded } from './module-state.ts'

// Names and versions become paths below the store: no text may lead elsewhere.
const packageName = '^(@[A-Za-z0-9_~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*$'
const packageVersion = '^[0-9A-Za-z][0-9A-Za-z.+-]*$'
const dependencyPlace = `^(node_modules/${unanchored(packageName)}/)*node_modules/${unanchored(packageName)}$`
/** Subresource Integrity, of one hash or several. */
const sha512 = 'sha512-[A-Za-z0-9+/]{86}=='
const sha512s = `^${sha512}( ${sha512})*$`
/** As registries publish it, with its options. */
const anyHash = 'sha(1|256|384|512)-[A-Za-z0-9+/]+={0,2}(\\?[!-~]*)?'
const { pattern: moduleId } = Manifest.properties.id as { readonly pattern: string }
/** Generations count up by one: this many take a lifetime, and sums of them stay exact. */
const MOST_GENERATIONS = 2 ** 31 - 1

/** One package in the store, as recorded in modules.lock.json. */
const packageProperties = {
  package: Type.String({ pattern: packageName, maxLength: 214, description: 'the npm package name' }),
  version: Type.String({ pattern: packageVersion, maxLength: 256 }),
  spec: Type.String({
    maxLength: 4096,
    description: 'its source as an npm spec; a folder or file is relative to the application',
  }),
  integrity: Type.String({
    pattern: sha512s,
    maxLength: 1024,
    description: 'SHA-512 of the package tarball (SRI)',
  }),
  tree: Type.String({
    pattern: `^${sha512}$`,
    description: 'SHA-512 over every file in the store, dependencies included (SRI)',
  }),
  dependencies: Type.Optional(
    Type.Record(
      Type.String({ pattern: dependencyPlace }),
      Type.Object({
        name: Type.Optional(Type.String({ pattern: packageName, maxLength: 214 })),
        version: Type.String({ pattern: packageVersion, maxLength: 256 }),
        integrity: Type.Optional(Type.String({ pattern: `^${anyHash}( ${anyHash})*$`, maxLength: 1024 })),
      }),
      {
        additionalProperties: false,
        description: 'its resolved dependencies: the packages of a package-lock.json, without URLs',
      },
    ),
  ),
  signed: Type.Optional(
    Type.Object(
      {
        keyid: Type.String(),
        provenance: Type.Boolean(),
        repository: Type.Optional(Type.String()),
        workflow: Type.Optional(Type.String()),
      },
      {
        description:
          'the registry key that verified its signature; whether its provenance was verified, and the repository and workflow that it names',
      },
    ),
  ),
}

/** The number of a generation. */
export const GenerationNumber = Type.Integer({ minimum: 0, maximum: MOST_GENERATIONS })

export const LockedPackage = Type.Object(packageProperties, { additionalProperties: false })
export type LockedPackage = Static<typeof LockedPackage>

export const LockedModule = Type.Object(
  { ...packageProperties, ...decisionProperties },
  { additionalProperties: false },
)
export type LockedModule = Static<typeof LockedModule>

/**
 * modules.lock.json: the single source of truth for what is installed. One atomic rename of it
 * makes one generation.
 */
export const LockFile = Type.Object(
  {
    lockVersion: Type.Literal(1),
    generation: GenerationNumber,
    host: Type.Optional(LockedPackage),
    modules: Type.Record(Type.String({ pattern: moduleId }), LockedModule, {
      additionalProperties: false,
      description: 'by module id, in activation order',
    }),
  },
  { additionalProperties: false },
)
export type LockFile = Static<typeof LockFile>

export const emptyLockFile: LockFile = { lockVersion: 1, generation: 0, modules: {} }

/** Paths in an application folder. */
export const lockFilePath = (directory: string) => join(directory, 'modules.lock.json')
export const storeDirectory = (directory: string) => join(directory, '.app', 'store')

/** All packages of a lock, by module id or `host`. */
export function lockedPackages({ host, modules }: LockFile): Map<string, LockedPackage | LockedModule> {
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

/** modules.lock.json is missing or broken, so what is installed is unknown. */
export class LockFileError extends ConfigError {
  override readonly name = 'LockFileError'
  readonly directory: string

  constructor(directory: string, reason: string) {
    super(`${lockFilePath(directory)} ${reason}`)
    this.directory = directory
  }
}

/** Undefined if the package.json of a stored package matches the lock. */
export function differenceOf(
  locked: Pick<LockedPackage, 'package' | 'version'>,
  found: { readonly name: string; readonly version: string },
): string | undefined {
  if (locked.package === found.name && locked.version === found.version) return undefined
  return `modules.lock.json has ${locked.package} ${locked.version}, and the package in its place is ${found.name} ${found.version}`
}

const unreadable: Readonly<Record<string, string>> = { ENOENT: 'is missing', EISDIR: 'is a folder' }

/**
 * @throws {NewerHostError} if its format is newer than this host
 * @throws {LockFileError} if the file is missing or no lock
 */
export async function readLockFile(directory: string): Promise<LockFile> {
  const file = lockFilePath(directory)
  const text = await readText(file).catch((error: NodeJS.ErrnoException) => {
    const reason = unreadable[error.code ?? '']
    throw reason === undefined ? error : new LockFileError(directory, reason)
  })
  const lock = parseJson(text, (reason) => new LockFileError(directory, reason))
  const { lockVersion } = (lock ?? {}) as { lockVersion?: unknown }
  if (typeof lockVersion === 'number' && lockVersion > emptyLockFile.lockVersion) {
    throw new NewerHostError(
      `${file} was written by a newer host: its "lockVersion" is ${lockVersion}, and this host supports up to ${emptyLockFile.lockVersion}`,
    )
  }
  const wrong = firstError(LockFile, lock)
  if (wrong) throw new LockFileError(directory, `is not a lock file: ${clauseOf(wrong)}`)
  return lock as LockFile
}

/**
 * Replaces the lock file durably and atomically: the commit point of every change.
 * @param file another place, from which it is moved later
 */
export async function writeLockFile(
  directory: string,
  lock: LockFile,
  file = lockFilePath(directory),
): Promise<void> {
  await writeDurably(file, `${JSON.stringify(lock, null, 2)}\n`, 0o644)
}

/** As a manifest may name its module. */
export const isModuleId = (text: string): boolean => isValid(Manifest.properties.id, text)

const isValid = (schema: TSchema, value: unknown) => firstError(schema, value) === undefined

/** Whether a record of the application holds a lock, by the properties that every version reads. */
export function isLockFile(value: unknown): value is LockFile {
  const { generation, modules, host } = (value ?? {}) as Partial<LockFile>
  if (!isValid(GenerationNumber, generation) || typeof modules !== 'object' || modules === null) return false
  const { package: name, version, tree } = packageProperties
  const isPackage = (locked: LockedPackage | null) =>
    isValid(name, locked?.package) && isValid(version, locked?.version) && isValid(tree, locked?.tree)
  const all = Object.entries(modules)
  return (host === undefined || isPackage(host)) && all.every(([id, one]) => isModuleId(id) && isPackage(one))
}

/** The modules whose code the host loads. */
export const modulesToLoad = ({ modules }: Pick<LockFile, 'modules'>): [id: string, locked: LockedModule][] =>
  Object.entries(modules).filter(([, locked]) => isLoaded(decisionOf(locked)))

/** The same, with their folders. */
export const foldersToLoad = (directory: string, lock: LockFile) =>
  modulesToLoad(lock).map(([id, locked]) => ({ id, directory: storedModule(directory, locked) }))

function unanchored(pattern: string): string {
  return `(?:${pattern.slice(1, -1)})`
}
