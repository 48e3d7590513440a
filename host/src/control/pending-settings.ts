import { isDeepStrictEqual } from 'node:util'
import { type Config, configSchema, drainSecondsOf, readConfig } from '@mortise/application'
import { reservedBytes, type Volume, volumeOf } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import type { RunningApplication } from './open-application.ts'

/** A host setting that differs from what the host uses: changed since the start, or overridden. */
export interface PendingSetting {
  /** `server.port` */
  readonly key: string
  /** The option of `app start` that overrides it: `--port`. */
  readonly option?: string | undefined
  /** Undefined for none. It may be a secret: a URL with a password. */
  readonly effective?: unknown
  /** The value at the next start. It may be a secret too. */
  readonly next?: unknown
}

// Modules handle their own settings. Only the command reads aliases, and those of backups each time.
const { $schema: _, modules: __, aliases: ___, backup: ____, ...properties } = configSchema.properties

/** In the host's environment. @throws {ConfigError} if app.config.json is invalid */
export async function pendingSettings({
  config,
  options,
}: Pick<RunningApplication, 'config' | 'options'>): Promise<PendingSetting[]> {
  const { databaseFile, directory, environment } = config
  const volume = databaseFile === undefined ? undefined : await volumeOf(databaseFile)
  const next = await readConfig(directory, environment)
  const changed = differing(properties, inEffect(config, volume), inEffect(next, volume), [])
  const started = options()
  const given = (['host', 'port'] as const).filter((name) => started[name] !== undefined)
  const overridden = given
    .filter((name) => started[name] !== next.server[name])
    .map((name) => ({
      key: `server.${name}`,
      option: `--${name}`,
      effective: started[name],
      next: started[name],
    }))
  return [...overridden, ...changed.filter(({ key }) => !given.some((name) => key === `server.${name}`))]
}

/** With the defaults that depend on the machine. */
function inEffect(config: Config, volume: Volume | undefined): Config {
  const { server, storage } = config
  return {
    ...config,
    server: { ...server, drainSeconds: drainSecondsOf(config) },
    storage: volume ? { minFreeBytes: reservedBytes(volume, storage.minFreeBytes) } : storage,
  }
}

function differing(
  properties: Readonly<Record<string, TSchema>>,
  present: object,
  coming: object,
  path: readonly string[],
): PendingSetting[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const effective = (present as Record<string, unknown>)[name]
    const next = (coming as Record<string, unknown>)[name]
    if (isDeepStrictEqual(effective, next)) return []
    const own = [...path, name]
    if (schema.properties) return differing(schema.properties, effective ?? {}, next ?? {}, own)
    return [{ key: own.join('.'), effective, next }]
  })
}
