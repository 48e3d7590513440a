// What serves an application, with Fastify. What commands need is in index.ts.

import type { observeModule as Observe } from './modules/observe-module.ts'

export { Application } from './application.ts'
export { createTokenVerifier } from './callers/token-verifier.ts'
export { createHost } from './generations/create-host.ts'
export type { ApplicationOptions } from './lasting-parts.ts'
export { withLocation } from './modules/error-location.ts'
export { createLogger, linesForPeople } from './telemetry/logger.ts'

/** Loaded on demand: a host that serves does without it. */
export const observeModule: typeof Observe = async (...given) =>
  (await import('./modules/observe-module.ts')).observeModule(...given)
