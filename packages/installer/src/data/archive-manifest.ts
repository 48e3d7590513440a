import { firstError, GenerationNumber, isModuleId } from '@mortise/application'
import { hostVersion } from '@mortise/host'
import { parseJson } from '@mortise/storage'

/** The first entry of an archive. It describes the archive and lists the other entries. */
export interface ArchiveManifest {
  readonly format: 'mortise-archive'
  readonly version: 1
  /** `application`: a whole application. `module`: the data of a purged module. */
  readonly kind: 'application' | 'module'
  readonly module?: string
  readonly host: string
  readonly generation: number
  readonly at: string
  /** By entry name. */
  readonly parts: Readonly<Record<string, ArchivePart>>
}

export interface ArchivePart {
  readonly bytes: number
  readonly sha256: string
}

export const MANIFEST = 'manifest.json'
export const DATA = 'data.db'
export const LOCK = 'modules.lock.json'
export const CONFIG = 'app.config.json'
export const SECRET = 'secret'

/** The parts of an archive of each kind. The secret is included only on request. */
const PARTS = {
  application: { required: [DATA, LOCK, CONFIG], optional: [SECRET] },
  module: { required: [DATA], optional: [] },
} as const

export function newManifest(
  fields: Pick<ArchiveManifest, 'kind' | 'module' | 'generation' | 'parts'>,
): ArchiveManifest {
  return {
    format: 'mortise-archive',
    version: 1,
    host: hostVersion,
    at: new Date().toISOString(),
    ...fields,
  }
}

/** @throws {Error} with the reason, if `text` is not a manifest that this command understands */
export function parseManifest(text: string): ArchiveManifest {
  const value = parseJson(text, (reason) => new Error(`its manifest ${reason}`))
  if (!isObject(value) || value.format !== 'mortise-archive')
    throw new Error('it is not an archive of "app backup"')
  if (value.version !== 1) {
    throw new Error(
      `its format has the version ${value.version}, and this command knows version 1: use a newer one`,
    )
  }
  const { kind, module, generation, at, parts } = value
  if (kind !== 'application' && kind !== 'module') throw new Error('its manifest names no known kind')
  if (kind === 'module' && !(typeof module === 'string' && isModuleId(module)))
    throw new Error('its manifest names no module')
  if (firstError(GenerationNumber, generation)) throw new Error('its manifest names no generation')
  if (typeof at !== 'string' || at.length > 30 || Number.isNaN(Date.parse(at)))
    throw new Error('its manifest names no time')
  if (!isObject(parts)) throw new Error('its manifest names no parts')
  const { required, optional } = PARTS[kind]
  const known: readonly string[] = [...required, ...optional]
  for (const [name, part] of Object.entries(parts)) {
    if (!known.includes(name)) throw new Error(`its manifest names the part ${JSON.stringify(name)}`)
    const isPart =
      isObject(part) &&
      isCount(part.bytes) &&
      typeof part.sha256 === 'string' &&
      /^[0-9a-f]{64}$/.test(part.sha256)
    if (!isPart) throw new Error(`its manifest has no size and hash of ${name}`)
  }
  for (const name of required) {
    if (!Object.hasOwn(parts, name)) throw new Error(`its manifest does not name ${name}`)
  }
  return value as unknown as ArchiveManifest
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
