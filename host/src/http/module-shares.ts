import type { Problem } from '@mortise/module-sdk'
import { moduleBusy } from './too-many.ts'

/** How long a request may wait to begin, in milliseconds. */
export const PATIENCE = 1_000

interface Share {
  working: number
  readonly waiting: Set<Waiting>
}

interface Waiting {
  readonly place: SharedPlace
  readonly begin: () => void
}

/** The place of a request among those in progress, as its module needs it. */
export interface SharedPlace {
  readonly isOver: boolean
  /** That it counts for; `leave` it at the end. */
  share: Share | undefined
  /** Gives the place to other requests until `resume`. */
  pause(): void
  resume(): void
}

/**
 * Keeps a slow module from taking all places of the process. A request beyond the share of its module
 * waits in order, without a place, and is refused after a second.
 */
export class ModuleShares {
  readonly #most: number
  readonly #onRefused: (reason: string) => void
  readonly #shares = new Map<string, Share>()

  /** @param most requests of one module at a time */
  constructor(most: number, onRefused: (reason: string) => void) {
    this.#most = most
    this.#onRefused = onRefused
  }

  /** The requests of a module in progress. */
  working(module: string): number {
    return this.#shares.get(module)?.working ?? 0
  }

  /** Whether the request may begin now. Otherwise let it `wait`. */
  enter(module: string, place: SharedPlace): boolean {
    if (place.isOver) return true
    const share = this.#shareOf(module)
    if (share.working >= this.#most) return false
    begin(share, place)
    return true
  }

  /** @param next called in its turn; with a problem if the request is refused */
  wait(module: string, place: SharedPlace, next: (problem?: Problem) => void): void {
    const share = this.#shareOf(module)
    place.pause()
    const timer = setTimeout(() => {
      share.waiting.delete(waiting)
      if (!place.isOver) this.#onRefused(`${module} has ${this.#most} requests in progress, its share`)
      next(moduleBusy(module))
    }, PATIENCE).unref()
    const waiting = {
      place,
      begin: () => {
        clearTimeout(timer)
        place.resume()
        begin(share, place)
        next()
      },
    }
    share.waiting.add(waiting)
  }

  #shareOf(module: string): Share {
    const known = this.#shares.get(module)
    if (known !== undefined) return known
    const share: Share = { working: 0, waiting: new Set() }
    this.#shares.set(module, share)
    return share
  }
}

function begin(share: Share, place: SharedPlace): void {
  share.working += 1
  place.share = share
}

/** Lets the next request of the module begin. */
export function leave(share: Share): void {
  share.working -= 1
  for (const waiting of share.waiting) {
    share.waiting.delete(waiting)
    // One whose client has left ends by its timer.
    if (waiting.place.isOver) continue
    waiting.begin()
    return
  }
}
