import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'
import { type Config, readConfig } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'

/** A host setting that has changed since the start. */
export interface PendingSetting {
  /** `server.port` */
  readonly key: string
  /** Undefined for none. It may be a secret: a URL with a password. */
  readonly inForce?: unknown
  /** The value at the next start. It may be a secret too. */
  readonly next?: unknown
}

// Modules handle their own settings, and only the command reads aliases.
const { $schema: _, modules: __, aliases: ___, ...properties } = configSchema.properties

/** In the host's environment. @throws {ConfigError} if app.config.json is invalid */
export async function pendingSettings(config: Config): Promise<PendingSetting[]> {
  return differing(properties, config, await readConfig(config.directory, config.environment), [])
}

function differing(
  properties: Readonly<Record<string, TSchema>>,
  present: object,
  coming: object,
  path: readonly string[],
): PendingSetting[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inForce = (present as Record<string, unknown>)[name]
    const next = (coming as Record<string, unknown>)[name]
    if (isDeepStrictEqual(inForce, next)) return []
    const own = [...path, name]
    if (schema.properties) return differing(schema.properties, inForce ?? {}, next ?? {}, own)
    return [{ key: own.join('.'), inForce, next }]
  })
}
