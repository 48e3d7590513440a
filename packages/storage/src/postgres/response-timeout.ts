/** How often it is looked, in milliseconds. */
const TICK_MS = 250
/** How many looks without an answer make it ask for a new connection. */
const SILENT_TICKS = 3
/** How many more until the server counts as away. */
const PING_TICKS = 4

export interface AnswerWatchOptions {
  /** Whether an answer is due. */
  readonly isAsking: () => boolean
  /** A number that changes with each answer. */
  readonly heard: () => number
  /** Whether the server is known to be away. */
  readonly isAway: () => boolean
  /** Resolves once the server answers on a new connection. */
  readonly ping: () => Promise<void>
  /** No answer comes, on no connection. */
  readonly onSilence: () => void
}

/**
 * Notices that a server gives no answers while its connections stay open: it is frozen, or what is sent to it is lost.
 * A statement that takes long is no silence, since the server answers on a new connection then. Counts looks rather
 * than time, so that what came while this process was busy is read before it is judged.
 */
export class ResponseTimeout {
  readonly #options: AnswerWatchOptions
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #heard = 0
  #silent = 0

  constructor(options: AnswerWatchOptions) {
    this.#options = options
    this.#arm()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Between two looks the event loop reads what has come. */
  #arm(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#look()
      setImmediate(() => this.#arm())
    }, TICK_MS).unref()
  }

  #look(): void {
    const { isAsking, heard, isAway, ping, onSilence } = this.#options
    const before = this.#heard
    this.#heard = heard()
    this.#silent = isAsking() && this.#heard === before ? this.#silent + 1 : 0
    if (this.#silent < SILENT_TICKS) return
    if (this.#silent === SILENT_TICKS) {
      ping().then(() => {
        this.#silent = 0
      })
    }
    if (this.#silent === SILENT_TICKS + PING_TICKS || isAway()) onSilence()
  }
}
