import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * A process that answers one message at a time. It inherits the options of this one, so that
 * `node --cpu-prof src/bin.ts` profiles all of them.
 */
export class Child {
  readonly #process: ChildProcess
  readonly #file: URL

  /**
   * @param file the module that it runs
   * @param onLog hears each line that it writes to stderr; without, they go to this one's
   */
  constructor(file: URL, onLog?: (line: string) => void) {
    this.#file = file
    this.#process = fork(file, { stdio: ['ignore', 'ignore', onLog ? 'pipe' : 'inherit', 'ipc'] })
    const { stderr } = this.#process
    if (onLog && stderr) createInterface(stderr).on('line', onLog)
  }

  /** @throws {Error} where the process ends instead of answering */
  async ask<Answer>(message: object): Promise<Answer> {
    const settled = new AbortController()
    const { signal } = settled
    try {
      this.#process.send(message)
      return await Promise.race([
        once(this.#process, 'message', { signal }).then(([answer]) => answer as Answer),
        once(this.#process, 'exit', { signal }).then(([code, by]) => {
          throw new Error(
            `${this.#file.pathname} ended (${code ?? by}) instead of answering: see what it wrote above`,
          )
        }),
      ])
    } finally {
      settled.abort()
    }
  }

  /** Ends the process where it is, and waits for its end. */
  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit')
    if (this.#process.kill('SIGKILL')) await ended
  }

  /** Lets go of the process and waits for its end. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = once(this.#process, 'exit')
    if (this.#process.connected) this.#process.disconnect()
    await ended
  }
}
