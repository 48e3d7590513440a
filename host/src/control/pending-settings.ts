import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'
import { type Config, readConfig } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'

/** A setting of the host that has changed since it was started. */
export interface PendingSetting {
  /** `server.port` */
  readonly key: string
  /** Undefined for none. It may be a secret: a URL with a password. */
  readonly inForce?: unknown
  /** What the next start would take. It may be a secret too. */
  readonly next?: unknown
}

// What modules take is theirs, and aliases are read by the command alone.
const { $schema: _, modules: __, aliases: ___, ...properties } = configSchema.properties

/**
 * What the host would take up with its next start, in the environment that it has.
 * @throws {ConfigError} where app.config.json is wrong
 */
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
