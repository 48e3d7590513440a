import type { FastifyBaseLogger } from 'fastify'

const LOOK_INTERVAL = 1_000
/** How often it is told that it goes on, in milliseconds. */
const TELL_INTERVAL = 60_000

/** What requests are refused for as long as it lasts. */
export interface Refusals {
  /** Why they are refused now, in a sentence; undefined while they are not. */
  readonly refusal: string | undefined
  /** How many were refused so. */
  readonly refused: number
}

/** What is logged of it. */
export interface RefusalWords {
  readonly begins: string
  readonly lasts: string
  readonly ends: string
}

/**
 * Logs when refusals begin, once a minute how many there were, and when they end: the requests themselves are not
 * logged, since there may be thousands a second. What it returns ends it.
 */
export function tellRefusals(
  refusals: () => Refusals,
  log: Pick<FastifyBaseLogger, 'warn' | 'info'>,
  words: RefusalWords,
): () => void {
  let told: number | undefined
  /** What was counted when it was last told, and while nothing was refused. */
  let untold = refusals().refused
  let before = untold
  const timer = setInterval(() => {
    const { refusal, refused } = refusals()
    const now = performance.now()
    if (refusal === undefined) {
      if (told !== undefined) log.info({ refused: refused - before }, words.ends)
      told = undefined
      before = refused
      untold = refused
    } else if (told === undefined) {
      log.warn(`${words.begins}: ${refusal}`)
      told = now
    } else if (now - told >= TELL_INTERVAL) {
      log.warn({ refused: refused - untold }, `${words.lasts}: ${refusal}`)
      told = now
      untold = refused
    }
  }, LOOK_INTERVAL).unref()
  return () => clearInterval(timer)
}
