import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { door, environment } from '../../harness/app-command.ts'
import type { Operation } from './operation.ts'
import { calls, readTrace } from './read-trace.ts'

export interface RecordOptions {
  /** The folder of the recorded application. */
  readonly directory: string
  /** The number of earlier operations. */
  readonly start: number
  /** The fsync of each thread that fails, from 1; none if undefined. */
  readonly failingSync?: number | undefined
}

/** An `app` command under strace, which records its file operations. */
export class RecordedApp {
  readonly #process: ChildProcess
  readonly #options: RecordOptions
  readonly #traced: Promise<unknown>
  readonly #ended: Promise<number | string>
  #said = ''

  constructor(argv: readonly string[], options: RecordOptions) {
    const { directory, failingSync } = options
    const injected =
      failingSync === undefined ? [] : ['-e', `inject=fsync,fdatasync:error=EIO:when=${failingSync}`]
    // With -D the command is a child of this process, so that it can be signalled.
    const strace = ['-D', '-f', '--seccomp-bpf', '-qq', '-y', '-xx', '-s', '100000000', '-e', 'signal=none']
    const traced = [...strace, '-e', `trace=${calls}`, ...injected, '-o', this.#file(options), '--']
    const child = spawn(
      'strace',
      [...traced, process.execPath, '--no-warnings', door, ...argv, '--dir', directory, '--json'],
      {
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        env: {
          ...environment(directory),
          APP_LOG_LEVEL: 'silent',
          APP_RATE_LIMIT_MAX: '0',
          APP_SERVER_DRAIN_SECONDS: '0',
        },
      },
    )
    this.#process = child
    this.#options = options
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text
      })
    }
    // Strace has it too, and ends after the command.
    this.#traced = once((child.stdio[3] as Readable).resume(), 'close')
    this.#ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  }

  get said(): string {
    return this.#said
  }

  /** The exit code or signal. */
  get ended(): Promise<number | string> {
    return this.#ended
  }

  /** The URL of the host; undefined if it has ended. */
  async url(): Promise<string | undefined> {
    const ended = this.#ended.then(() => true)
    while (!this.#said.includes('"url"')) {
      const more = once(this.#process.stdout as Readable, 'data').then(() => false)
      if (await Promise.race([ended, more])) return undefined
    }
    return /"url": *"([^"]+)"/.exec(this.#said)?.[1]
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** The recorded operations. Waits for its end. */
  async operations(): Promise<Operation[]> {
    await this.#ended
    await this.#traced
    const file = this.#file(this.#options)
    const trace = await readFile(file, 'latin1')
    await rm(file)
    return readTrace(trace, this.#options.directory, this.#options.start)
  }

  #file = ({ directory, start }: RecordOptions) => join(directory, '..', `trace-${start}`)
}
