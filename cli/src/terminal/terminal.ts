import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { escaped, type Reporter } from '@mortise/installer/reporting'

type Stream<Base> = Base & { isTTY?: boolean; columns?: number | undefined }

export interface TerminalStreams {
  readonly stdin: Stream<Readable>
  readonly stdout: Stream<Writable>
  readonly stderr: Stream<Writable>
  /** How long a question waits for its reply, in milliseconds: a minute if it is not given. */
  readonly patience?: number
}

/** With `json`, stdout gets only the one document; notes for people go to stderr. */
export class Terminal implements Reporter {
  readonly json: boolean
  /** Whether plans are printed with all details. */
  readonly verbose: boolean
  readonly streams: TerminalStreams
  #hasResult = false

  constructor(streams: TerminalStreams, json: boolean, verbose = false) {
    this.streams = streams
    this.json = json
    this.verbose = verbose
  }

  /** The result: `text` for people, `document` for programs. Only people see a second result. */
  result(document: unknown, text: string): void {
    const { stdout } = this.streams
    if (!this.json) stdout.write(`${printable(text).trimEnd()}\n`)
    else if (!this.#hasResult) stdout.write(`${escaped(JSON.stringify(document, null, 2))}\n`)
    else this.note(text)
    this.#hasResult = true
  }

  note(text: string): void {
    this.streams.stderr.write(`${printable(text)}\n`)
  }

  /** Whether a person can reply. */
  get interactive(): boolean {
    return this.streams.stdin.isTTY === true && this.streams.stderr.isTTY === true
  }

  /**
   * Asks a yes-or-no question; anything but yes is no.
   * @returns undefined if nobody replies in time: a command must not keep the lock of the application
   */
  async confirm(question: string): Promise<boolean | undefined> {
    const end = new AbortController()
    const reader = createInterface({
      input: this.streams.stdin,
      output: this.streams.stderr,
      terminal: false,
    })
    try {
      const reply = await Promise.race([
        reader.question(`${printable(question)} [y/N] `),
        new Promise<string>((resolve) => reader.once('close', () => resolve(''))),
        sleep(this.streams.patience ?? MINUTE, undefined, { signal: end.signal }),
      ])
      return reply === undefined ? undefined : /^y(es)?$/i.test(reply.trim())
    } finally {
      end.abort()
      reader.close()
    }
  }

  /** Runs `work`, with a spinner on a terminal if it takes over half a second. */
  async during<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
    const { stderr } = this.streams
    // A terminal may report zero columns (a serial line, a container). The spinner divides by the
    // columns to count lines, and would erase infinitely many.
    if (stderr.isTTY !== true || !(Number(stderr.columns) > 0)) return await work()
    const { default: yoctoSpinner } = await import('yocto-spinner')
    const spinner = yoctoSpinner({ text, stream: stderr as NodeJS.WriteStream, handleSignals: false })
    const timer = setTimeout(() => spinner.start(), 500)
    // The cursor is shown again. The signal then does what it does without a spinner.
    const interrupt = (signal: NodeJS.Signals) => {
      spinner.stop()
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    }
    for (const signal of interruptions) process.once(signal, interrupt)
    try {
      return await work()
    } finally {
      for (const signal of interruptions) process.off(signal, interrupt)
      clearTimeout(timer)
      if (spinner.isSpinning) spinner.stop()
    }
  }
}

const MINUTE = 60_000

const interruptions = ['SIGINT', 'SIGTERM'] as const

/** Removes control characters: some of the text comes from packages. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|\p{Cf}/gu, '?')
}
