import type { Config } from '@mortise/application'
import { ConfigError } from '@mortise/application'
import type { FastifyBaseLogger } from 'fastify'
import type { OpenTelemetry } from './open-telemetry.ts'

/** A type alone: the libraries are loaded when they are needed. */
export type Tracing = OpenTelemetry

/** Undefined without a collector. @throws {ConfigError} if OpenTelemetry is not installed */
export async function openTracing(config: Config, log: FastifyBaseLogger): Promise<Tracing | undefined> {
  const { endpoint } = config.telemetry
  if (endpoint === undefined) return undefined
  try {
    const { OpenTelemetry } = await import('./open-telemetry.ts')
    return new OpenTelemetry(endpoint, config, log)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError(
      `"telemetry.endpoint" is set, but its packages are not installed (${(error as Error).message}): install the host without --omit=optional, or unset it`,
    )
  }
}
