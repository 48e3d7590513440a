import type { Config } from './config.ts'

/** Time for a load balancer, which probes every few seconds. */
const DEFAULT_SECONDS = 5

/**
 * How long a stopping host still accepts requests. On a terminal a person waits for the end, and
 * there is no load balancer.
 */
export function drainSecondsOf({ server }: Pick<Config, 'server'>): number {
  const onTerminal = process.stdout.isTTY === true || process.stderr.isTTY === true
  return server.drainSeconds ?? (onTerminal ? 0 : DEFAULT_SECONDS)
}

/** The log message at the beginning of a stop. */
export const stoppingMessage = (why: string, drainSeconds: number): string =>
  `stopping: ${why}, ${drainSeconds > 0 ? `requests are taken for ${drainSeconds} s more` : 'no more requests are taken'}`
