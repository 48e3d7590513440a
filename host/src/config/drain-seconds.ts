import type { Config } from './config.ts'

/** For a load balancer, which asks every few seconds. */
const DEFAULT_SECONDS = 5

/** How long a host that stops goes on taking requests. On a terminal somebody waits for its end, and nobody balances load. */
export function drainSecondsOf({ server }: Pick<Config, 'server'>): number {
  const onTerminal = process.stdout.isTTY === true || process.stderr.isTTY === true
  return server.drainSeconds ?? (onTerminal ? 0 : DEFAULT_SECONDS)
}

/** What the log says at the beginning of a stop. */
export const stoppingMessage = (why: string, drainSeconds: number): string =>
  `stopping: ${why}, ${drainSeconds > 0 ? `requests are taken for ${drainSeconds} s more` : 'no more requests are taken'}`
