import type { FastifyBaseLogger } from 'fastify'
import type { Storage } from './storage.ts'

const LOOK_INTERVAL = 1_000
/** How often it is told that it goes on, in milliseconds. */
const TELL_INTERVAL = 60_000

/**
 * Logs when writes begin to be refused, once a minute how many, and when they are taken again: the requests themselves
 * are not logged, since there may be thousands a second. What it returns ends it.
 */
export function tellRefusals(
  storage: Pick<Storage, 'refusal' | 'refused'>,
  log: Pick<FastifyBaseLogger, 'warn' | 'info'>,
): () => void {
  let told: { readonly at: number; readonly refused: number } | undefined
  const timer = setInterval(() => {
    const { refusal, refused } = storage
    const now = performance.now()
    if (refusal === undefined) {
      if (told !== undefined) log.info('writes are taken again')
      told = undefined
    } else if (told === undefined) {
      log.warn(`writes are refused, and reads go on: ${refusal}`)
      told = { at: now, refused }
    } else if (now - told.at >= TELL_INTERVAL) {
      log.warn({ refused: refused - told.refused }, `writes are still refused: ${refusal}`)
      told = { at: now, refused }
    }
  }, LOOK_INTERVAL).unref()
  return () => clearInterval(timer)
}
