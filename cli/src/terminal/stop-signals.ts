const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof names)[number]

/** A second Ctrl-C within this many milliseconds is the same one, sent by the launcher too. */
const SAME_KEY = 1_000

/**
 * The signals that stop a host. Any number of them are one stop, because a supervisor signals all
 * processes of a group, and those forward it to each other. Only a second Ctrl-C at a terminal ends
 * the host at once. An impatient supervisor sends SIGKILL.
 */
export class StopSignals {
  readonly #stop = new AbortController()
  readonly #cut = new AbortController()
  #since = 0
  /** The first signal aborts this; its reason is the signal's name. */
  readonly stop: AbortSignal = this.#stop.signal
  /** A later Ctrl-C at a terminal aborts this. */
  readonly cut: AbortSignal = this.#cut.signal

  /** Listens from now on, until the process ends or `release`. */
  constructor() {
    for (const name of names) process.on(name, this.#hear)
  }

  /** Restores the default behaviour of the signals. */
  release(): void {
    for (const name of names) process.off(name, this.#hear)
  }

  readonly #hear = (name: StopSignal): void => {
    const now = performance.now()
    if (!this.stop.aborted) {
      this.#since = now
      this.#stop.abort(name)
    } else if (name === 'SIGINT' && isOnTerminal() && now - this.#since > SAME_KEY) this.#cut.abort()
  }
}

/** Whether a person may be at the keyboard. */
export const isOnTerminal = (): boolean => process.stdin.isTTY === true || process.stderr.isTTY === true
