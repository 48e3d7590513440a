import type { Terminal } from '../../terminal/terminal.ts'

interface Line {
  readonly level: number
  readonly time: number
  readonly msg?: string
  readonly err?: { readonly stack?: string }
  readonly method?: string
  readonly url?: string
  readonly status?: number
  readonly ms?: number
}

/** Levels of pino. */
const [INFO, WARN, ERROR] = [30, 40, 50] as const

/** The log of the host in lines for an author: requests in short, and errors with their place. */
export class AuthorLog {
  /** Leaves out requests: the host asks the new code itself. */
  isSwitching = true
  readonly #terminal: Terminal
  readonly #places: (text: string) => string

  /** @param places replaces the paths of copies by the author's own */
  constructor(terminal: Terminal, places: (text: string) => string) {
    this.#terminal = terminal
    this.#places = places
  }

  write(text: string): void {
    const line: Line = JSON.parse(text)
    const { level, time, msg = '', method, url, status, ms } = line
    const isRequest = status !== undefined && method !== undefined
    // The loop itself says what serves.
    if (level <= INFO && (!isRequest || this.isSwitching)) return
    const what = isRequest ? `${method} ${url} ${status} ${ms} ms` : msg
    const name = level >= ERROR ? 'ERROR ' : level >= WARN && !isRequest ? 'WARN ' : ''
    const stack = line.err?.stack?.split('\n').filter((frame) => !/^\s+at .*(node:|node_modules)/.test(frame))
    const clock = new Date(time).toTimeString().slice(0, 8)
    this.note([`[${clock}] ${name}${what}`, ...(stack ?? [])].join('\n'))
  }

  note(text: string): void {
    this.#terminal.note(this.#places(text))
  }
}
