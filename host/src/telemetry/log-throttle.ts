const INTERVAL = 60_000
/** How many lines that are alike are logged in a minute. */
const MOST_ALIKE = 10

interface Counted {
  logged: number
  more: number
  /** The first one that was not logged. */
  line?: object
}

/**
 * Keeps a log from being filled by one thing that happens over and over: a failed module that somebody keeps asking, or
 * a server with too much to do. Of the lines beyond the first ones it is told once a minute how many there were.
 */
export class LogThrottle {
  readonly #tell: (line: object) => void
  readonly #timer: NodeJS.Timeout
  #counts = new Map<string, Counted>()

  /** @param tell logs one of those that were left out, with how many there were as `alike` */
  constructor(tell: (line: object) => void) {
    this.#tell = tell
    this.#timer = setInterval(() => this.#turn(), INTERVAL).unref()
  }

  /**
   * Whether a line is to be logged.
   * @param kind one of few: what callers send may not be part of it
   */
  admits(kind: string, line: object): boolean {
    const counted = this.#counts.get(kind) ?? { logged: 0, more: 0 }
    this.#counts.set(kind, counted)
    if (counted.logged < MOST_ALIKE) {
      counted.logged += 1
      return true
    }
    counted.more += 1
    counted.line ??= line
    return false
  }

  close(): void {
    clearInterval(this.#timer)
    this.#turn()
  }

  #turn(): void {
    const counts = this.#counts
    this.#counts = new Map()
    for (const { more, line } of counts.values()) {
      if (line !== undefined) this.#tell({ ...line, alike: more })
    }
  }
}
