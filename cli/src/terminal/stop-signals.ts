const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof names)[number]

/** A Ctrl-C within so many milliseconds is the same one: it reaches a process from the terminal, and from its launcher. */
const SAME_KEY = 1_000

/**
 * The signals that stop a host. However many come, they are one stop: a supervisor signals all processes of a group, and
 * those pass it on to each other. Only somebody at a terminal who presses Ctrl-C again wants it to end at once; a
 * supervisor that loses patience sends SIGKILL.
 */
export class StopSignals {
  readonly #stop = new AbortController()
  readonly #cut = new AbortController()
  #since = 0

  /** Hears them from now on, until the process ends or `release`. */
  constructor() {
    for (const name of names) process.on(name, this.#hear)
  }

  /** Aborted by the first signal; its reason is the signal's name. */
  get stop(): AbortSignal {
    return this.#stop.signal
  }

  /** Aborted by a later Ctrl-C on a terminal. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** Leaves signals to what they do by themselves. */
  release(): void {
    for (const name of names) process.off(name, this.#hear)
  }

  readonly #hear = (name: StopSignal): void => {
    const now = performance.now()
    if (!this.#stop.signal.aborted) {
      this.#since = now
      this.#stop.abort(name)
    } else if (name === 'SIGINT' && isOnTerminal() && now - this.#since > SAME_KEY) this.#cut.abort()
  }
}

/** Whether somebody may press keys. */
export const isOnTerminal = (): boolean => process.stdin.isTTY === true || process.stderr.isTTY === true
