/** How many answers the routes of one module have given, and how many of them were its failures. */
export interface Answers {
  readonly all: number
  readonly failed: number
}

/** So many failed answers at least: fewer are no trend. */
const FEWEST = 5
/** The share of failed answers that is still no reason to take a change back. */
const TOLERATED = 0.05

const none: Answers = { all: 0, failed: 0 }

/** The answers of one generation, by module. */
export class AnswerCounts {
  readonly #byModule = new Map<string, Answers>()

  /** @returns what that makes of the module */
  count(module: string, isFailed: boolean): Answers {
    const { all, failed } = this.of(module)
    const answers = { all: all + 1, failed: failed + (isFailed ? 1 : 0) }
    this.#byModule.set(module, answers)
    return answers
  }

  of(module: string): Answers {
    return this.#byModule.get(module) ?? none
  }
}

/**
 * Whether an answer is the failure of the module whose route gave it. 503 is not: the host gives it for the database, a
 * full disk or its own end, and a module for what it depends on.
 * @param problem the code of the problem that it is
 */
export const isModuleFailure = (status: number, problem: string | undefined): boolean =>
  status >= 500 && status !== 503 && problem !== 'outcome-unknown'

/** Whether a module fails more than it did: at least 5 answers, more than 5 % of all, and more than twice the former share. */
export function failsMore(former: Answers, present: Answers): boolean {
  if (present.failed < FEWEST) return false
  return shareOf(present) > Math.max(TOLERATED, 2 * shareOf(former))
}

const shareOf = ({ all, failed }: Answers) => (all === 0 ? 0 : failed / all)
