/** The number of responses of one module's routes, and of its failures among them. */
export interface Counts {
  readonly all: number
  readonly failed: number
}

/** Fewer failed responses mean nothing. */
const FEWEST = 5
/** The tolerated share of failed responses. */
const TOLERATED = 0.05

const none: Counts = { all: 0, failed: 0 }

/** The responses of one generation, by module. */
export class ResponseCounts {
  readonly #byModule = new Map<string, Counts>()

  count(module: string, isFailed: boolean): void {
    const { all, failed } = this.of(module)
    this.#byModule.set(module, { all: all + 1, failed: failed + (isFailed ? 1 : 0) })
  }

  of(module: string): Counts {
    return this.#byModule.get(module) ?? none
  }
}

/**
 * Whether a response is a failure of its route's module. 503 is not: the host sends it for the
 * database, a full disk or its own stop, and a module sends it for its dependencies.
 * @param problem the code of the problem response
 */
export const isModuleFailure = (status: number, problem: string | undefined): boolean =>
  status >= 500 && status !== 503 && problem !== 'outcome-unknown'

/**
 * Whether a module fails more than before: at least 5 responses, more than 5 % of all, and more
 * than twice the previous share.
 */
export function failsMore(previous: Counts, present: Counts): boolean {
  if (present.failed < FEWEST) return false
  return shareOf(present) > Math.max(TOLERATED, 2 * shareOf(previous))
}

const shareOf = ({ all, failed }: Counts) => (all === 0 ? 0 : failed / all)
