import { createRequire } from 'node:module'

/** The files of OpenTelemetry that the process has loaded: all of its packages are CommonJS. */
export function loadedOfOpenTelemetry(): string[] {
  const { cache } = createRequire(import.meta.url)
  return Object.keys(cache).filter((file) => /node_modules\/(@opentelemetry|@fastify\/otel)\//.test(file))
}
