import { Agent } from 'node:http'
import { Figures } from './figures.ts'
import { Random } from './random.ts'

export type Engine = 'sqlite' | 'postgres'

/** How long a run takes, and what it tries. */
export interface Extent {
  /** All randomness comes from it. */
  readonly seed: number
  /** 0 and one round are the slice for CI. */
  readonly minutes: number
  readonly rounds: number
  readonly signal: AbortSignal
  onProgress(text: string): void
}

/** Whether it is the part for CI, of some seconds. */
export const isSlice = ({ minutes, rounds }: Pick<Extent, 'minutes' | 'rounds'>) =>
  minutes === 0 && rounds === 1

/** The most failures that a round reports. */
const MOST_FAILURES = 50

/** One round of a run: what it works with, counts, and finds. */
export class Round {
  readonly seed: number
  readonly random: Random
  readonly minutes: number
  readonly isSlice: boolean
  readonly signal: AbortSignal
  /** An empty folder, removed after the round. */
  readonly folder: string
  /** The URL of a schema of its own on PostgreSQL; undefined on SQLite. */
  readonly database: string | undefined
  readonly log: (text: string) => void
  /** For connections that stay open until the end of the round. */
  readonly agent = new Agent({ keepAlive: true })
  readonly figures = new Figures()
  readonly failures: string[] = []
  /** The reason why this machine cannot run it. */
  skipped: string | undefined
  readonly #end: number
  readonly #cleanUps: (() => unknown)[] = []

  constructor(
    options: Extent & {
      readonly folder: string
      readonly database: string | undefined
      readonly end: number
    },
  ) {
    this.seed = options.seed
    this.random = new Random(options.seed)
    this.minutes = options.minutes
    this.isSlice = isSlice(options)
    this.signal = options.signal
    this.folder = options.folder
    this.database = options.database
    this.log = (text) => options.onProgress(text)
    this.#end = options.end
  }

  /** Whether the minutes are over, or the run was stopped. */
  get isOver(): boolean {
    return this.signal.aborted || performance.now() >= this.#end
  }

  get holds(): boolean {
    return this.failures.length === 0
  }

  count(figure: string, more = 1): void {
    this.figures.count(figure, more)
  }

  fail(...texts: readonly string[]): void {
    for (const text of texts) {
      if (this.failures.length >= MOST_FAILURES) return
      this.failures.push(text)
      this.log(`failed: ${text}`)
    }
  }

  /** Calls `cleanUp` at the end of the round, before those of earlier calls. */
  teardown(cleanUp: () => unknown): void {
    this.#cleanUps.unshift(cleanUp)
  }

  async close(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0)) await cleanUp()
    this.agent.destroy()
  }
}
