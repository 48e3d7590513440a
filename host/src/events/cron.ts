import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * The first time of a cron expression after `now`, in UTC, in epoch milliseconds.
 * @throws {TypeError} for an expression that is invalid, or has no such time
 */
export function nextTime(expression: string, now: number): number {
  // Loaded only by a host whose modules have a schedule.
  const { Cron } = require('croner') as typeof import('croner')
  const next = new Cron(expression, { timezone: 'UTC', paused: true }).nextRun(new Date(now))
  if (next === null) throw new TypeError(`the schedule "${expression}" is never due`)
  return next.getTime()
}
