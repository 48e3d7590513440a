import { isAbsolute, join, normalize } from 'node:path'
import { Manifest } from '@mortise/module-sdk/host'
import { parseJson, readText } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import validVersion from 'semver/functions/valid.js'
import validRange from 'semver/ranges/valid.js'
import { nearest } from '../config/closest-names.ts'
import { schemaFault } from '../config/evaluate-apart.ts'
import { firstError } from '../config/first-error.ts'
import { clauseOf } from '../config/schema-errors.ts'

/** A module package as its files describe it, without running any code. */
export interface ModulePackage {
  readonly name: string
  readonly version: string
  readonly manifest: Manifest
  /** Absolute path of the folder with package.json. */
  readonly directory: string
  /** JSON Schema of its settings; undefined without settings. */
  readonly settingsSchema: TSchema | undefined
}

/** A package that is no module, or has an invalid manifest; the message names the key. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

/** A package without a manifest: it is no module. */
export class NoManifestError extends ManifestError {}

/**
 * Reads a package for the first time: those in the store have been checked. A child process with
 * limits evaluates the schema of its settings.
 * @throws {ManifestError} also if the schema of its settings is wrong
 */
export async function readNewPackage(directory: string): Promise<ModulePackage> {
  const found = await readPackage(directory)
  const { settingsSchema: schema, manifest } = found
  if (schema === undefined) return found
  const fault = await schemaFault(schema)
  if (fault === undefined) return found
  const what =
    typeof manifest.config === 'string'
      ? join(directory, manifest.config)
      : `"mortise.config" in ${join(directory, 'package.json')}`
  throw new ManifestError(`${what} is not a JSON Schema: ${fault}`)
}

/** @throws {ManifestError} */
export async function readPackage(directory: string): Promise<ModulePackage> {
  const file = join(directory, 'package.json')
  const json = await readJson(file)
  const { name, version, mortise } = json
  if (typeof name !== 'string' || name === '') throw new ManifestError(`${file}: "name" is missing`)
  if (typeof version !== 'string' || !validVersion(version)) {
    throw new ManifestError(`${file}: "version" is not a semantic version`)
  }
  if (mortise === undefined) {
    throw new NoManifestError(`${name} is not a Mortise module: its package.json has no "mortise" manifest`)
  }
  const manifest = checkManifest(mortise, name)
  return { name, version, manifest, directory, settingsSchema: await readSettingsSchema(directory, manifest) }
}

/** @throws {ManifestError} */
export function checkManifest(value: unknown, name: string): Manifest {
  const wrong = firstError(Manifest, value)
  if (wrong) {
    const [near] = nearest(wrong.path.at(-1) ?? '', wrong.known ?? [])
    const known =
      near === undefined
        ? wrong.known && `; known are ${wrong.known.join(', ')}`
        : `; did you mean "${near}"?`
    throw new ManifestError(`${name}: in package.json, ${clauseOf(wrong, ['mortise'])}${known ?? ''}`)
  }
  const manifest = value as Manifest
  const ranges = { host: manifest.host, ...manifest.requires, ...manifest.optional }
  for (const [key, range] of Object.entries(ranges)) {
    if (validRange(range) === null)
      throw new ManifestError(`${name}: "${range}" (${key}) is not a semver range`)
  }
  for (const [contract, version] of Object.entries(manifest.provides ?? {})) {
    if (!validVersion(version))
      throw new ManifestError(`${name}: provides "${contract}" with an invalid semantic version`)
  }
  for (const [key, path] of Object.entries({ migrations: manifest.migrations, config: manifest.config })) {
    if (typeof path === 'string' && (isAbsolute(path) || normalize(path).startsWith('..'))) {
      throw new ManifestError(`${name}: "mortise.${key}" must lie inside the package`)
    }
  }
  if (manifest.migrations !== undefined && manifest.tables === undefined) {
    throw new ManifestError(
      `${name}: "mortise.tables" is missing: a module with migrations must name its table prefix`,
    )
  }
  // A prefix may be written with its underscore.
  return manifest.tables === undefined
    ? manifest
    : { ...manifest, tables: manifest.tables.replace(/_+$/, '') }
}

async function readSettingsSchema(directory: string, { config }: Manifest): Promise<TSchema | undefined> {
  if (config === undefined) return undefined
  return (typeof config === 'string' ? await readJson(join(directory, config)) : config) as TSchema
}

async function readJson(file: string): Promise<Record<string, unknown>> {
  const text = await readText(file).catch((error: NodeJS.ErrnoException) => {
    throw new ManifestError(`${file} cannot be read: ${reasonOf(error)}`, { cause: error })
  })
  const value = parseJson(text, (reason) => new ManifestError(`${file} ${reason}`))
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new ManifestError(`${file} must hold a JSON object`)
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'it is missing'
  return code === 'EISDIR' ? 'it is a folder' : message
}
