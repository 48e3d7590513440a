/** Interval of the checks, in milliseconds. */
const TICK_MS = 250
/** Checks without a response before it tries a new connection. */
const SILENT_TICKS = 3
/** Further checks before the server counts as unreachable. */
const PING_TICKS = 4

interface WatchOptions {
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
 * @returns a function that ends it
 */
export function watchResponses({ isAsking, heard, isAway, ping, onSilence }: WatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let previous = 0
  let silent = 0
  const look = () => {
    const now = heard()
    silent = isAsking() && now === previous ? silent + 1 : 0
    previous = now
    if (silent < SILENT_TICKS) return
    if (silent === SILENT_TICKS) {
      ping().then(() => {
        silent = 0
      })
    }
    if (silent === SILENT_TICKS + PING_TICKS || isAway()) onSilence()
  }
  /** Between two checks the event loop reads arrived data. */
  const arm = () => {
    if (isClosed) return
    timer = setTimeout(() => {
      look()
      setImmediate(arm)
    }, TICK_MS).unref()
  }
  arm()
  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}
