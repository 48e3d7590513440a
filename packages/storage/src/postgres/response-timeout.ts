/** Interval of the checks, in milliseconds. */
const TICK_MS = 250
/** Checks without a response before it tries a new connection. */
const SILENT_TICKS = 3
/** Further checks before the server counts as unreachable. */
const PING_TICKS = 4

export interface AnswerWatchOptions {
  /** Whether a response is pending. */
  readonly isAsking: () => boolean
  /** A number that changes with each response. */
  readonly heard: () => number
  /** Whether the server is known to be unreachable. */
  readonly isAway: () => boolean
  /** Resolves once the server responds on a new connection. */
  readonly ping: () => Promise<void>
  /** Called if no connection gets a response. */
  readonly onSilence: () => void
}

/**
 * Detects a server that sends no responses while its connections stay open: it is frozen, or
 * packets to it are lost. A slow statement is no silence, since the server then responds on a new
 * connection. Counts checks rather than time, so that data that arrived while this process was busy
 * are read first.
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

  /** Between two checks the event loop reads arrived data. */
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
