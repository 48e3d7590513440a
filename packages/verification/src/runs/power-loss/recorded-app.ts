import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { App } from '../../harness/app.ts'
import type { Operation } from './operation.ts'
import { calls, readTrace } from './read-trace.ts'

/** An `app` command under strace, which records its file operations. */
export class RecordedApp extends App {
  readonly #directory: string
  readonly #start: number
  readonly #file: string
  readonly #traced: Promise<unknown>

  /**
   * @param start the number of earlier operations
   * @param failingSync the fsync of each thread that fails, from 1; none if undefined
   */
  constructor(directory: string, argv: readonly string[], start: number, failingSync?: number) {
    const file = `${directory}-trace-${start}`
    const injected =
      failingSync === undefined ? [] : ['-e', `inject=fsync,fdatasync:error=EIO:when=${failingSync}`]
    // With -D the command is a child of this process, so that it can be signalled.
    const strace = ['-D', '-f', '--seccomp-bpf', '-qq', '-y', '-xx', '-s', '100000000', '-e', 'signal=none']
    super(directory, argv, {
      under: ['strace', ...strace, '-e', `trace=${calls}`, ...injected, '-o', file, '--'],
      environment: { APP_LOG_LEVEL: 'silent' },
      pipes: ['pipe'],
    })
    this.#directory = directory
    this.#start = start
    this.#file = file
    // Strace has it too, and ends after the command.
    this.#traced = once((this.child.stdio[3] as Readable).resume(), 'close')
  }

  /** The recorded operations. Waits for its end. */
  async operations(): Promise<Operation[]> {
    await this.ended
    await this.#traced
    const trace = await readFile(this.#file, 'latin1')
    await rm(this.#file)
    return readTrace(trace, this.#directory, this.#start)
  }
}
