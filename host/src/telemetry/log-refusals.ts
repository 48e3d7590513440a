import type { Refusing } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'

const LOOK_INTERVAL = 1_000
/** Shortest time between two progress lines, in milliseconds. */
const REPORT_INTERVAL = 60_000

/**
 * Logs when refusals begin, once a minute how many there were, and when they end. The requests
 * themselves are not logged, since there may be thousands a second.
 * @param what is refused: `writes`
 * @param rest what is not: `reads go on`
 * @param who refuses
 * @returns a function that stops it
 */
export function logRefusals(
  source: Refusing,
  log: Pick<FastifyBaseLogger, 'warn' | 'info'>,
  what: string,
  rest: string,
  who = 'the host',
): () => void {
  let before = source.refused
  let reported: { readonly at: number; readonly refused: number } | undefined
  const timer = setInterval(() => {
    const { refusal, refused } = source
    const now = performance.now()
    if (refusal === undefined) {
      if (reported !== undefined) log.info({ refused: refused - before }, `${who} accepts ${what} again`)
      reported = undefined
      before = refused
    } else if (reported === undefined) {
      log.warn(`${who} refuses ${what}, and ${rest}: ${refusal}`)
      reported = { at: now, refused }
    } else if (now - reported.at >= REPORT_INTERVAL) {
      log.warn({ refused: refused - reported.refused }, `${who} still refuses ${what}: ${refusal}`)
      reported = { at: now, refused }
    }
  }, LOOK_INTERVAL).unref()
  return () => clearInterval(timer)
}
