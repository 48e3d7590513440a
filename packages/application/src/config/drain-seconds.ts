import type { Config } from './config.ts'

/** Time for a load balancer, which probes every few seconds. */
const DEFAULT_SECONDS = 5

/** On a terminal a person waits for the end, and there is no load balancer. */
export function drainSecondsOf({ server }: Pick<Config, 'server'>): number {
  const onTerminal = process.stdout.isTTY === true || process.stderr.isTTY === true
  return server.drainSeconds ?? (onTerminal ? 0 : DEFAULT_SECONDS)
}

export const stoppingMessage = (why: string, drainSeconds: number): string =>
  `stopping: ${why}, ${drainSeconds > 0 ? `the host accepts requests for ${drainSeconds} s more` : 'the host accepts no more requests'}`
