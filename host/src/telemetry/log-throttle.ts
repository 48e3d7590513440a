const INTERVAL = 60_000
/** Similar lines logged per minute. */
const MOST_ALIKE = 10

interface Counted {
  logged: number
  more: number
  /** The first line that was not logged. */
  line?: object
}

/** For example, requests to a failed module. Once a minute it logs how many it left out. */
export class LogThrottle {
  readonly #log: (line: object) => void
  readonly #timer: NodeJS.Timeout
  #counts = new Map<string, Counted>()

  /** @param log logs one of the omitted lines, with their number as `alike` */
  constructor(log: (line: object) => void) {
    this.#log = log
    this.#timer = setInterval(() => this.#turn(), INTERVAL).unref()
  }

  /** @param kind one of few: it must not contain anything that callers send */
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
      if (line !== undefined) this.#log({ ...line, alike: more })
    }
  }
}
