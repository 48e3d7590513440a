import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { signal } from './signal.ts'

/**
 * A process that responds to one message at a time. It inherits the options of this process, so that
 * `node --cpu-prof src/bin.ts` profiles all of them.
 */
export class Child {
  readonly #process: ChildProcess
  readonly #file: URL

  /**
   * @param file the module to run
   * @param onLog receives each line on stderr; without it, they go to this process's stderr
   * @param under a command that runs Node, such as strace with its options
   */
  constructor(file: URL, onLog?: (line: string) => void, under: readonly string[] = []) {
    this.#file = file
    const [command, ...before] = [...under, process.execPath]
    this.#process = fork(file, {
      stdio: ['ignore', 'ignore', onLog ? 'pipe' : 'inherit', 'ipc'],
      execPath: command,
      execArgv: [...before, ...process.execArgv],
    })
    const { stderr } = this.#process
    if (onLog && stderr) createInterface(stderr).on('line', onLog)
  }

  /** @throws {Error} if the process ends without a response */
  async ask<Reply>(message: object): Promise<Reply> {
    const settled = new AbortController()
    const { signal } = settled
    try {
      this.#process.send(message)
      return await Promise.race([
        once(this.#process, 'message', { signal }).then(([response]) => response as Reply),
        once(this.#process, 'exit', { signal }).then(([code, by]) => {
          throw new Error(
            `${this.#file.pathname} ended (${code ?? by}) instead of responding: see what it wrote above`,
          )
        }),
      ])
    } finally {
      settled.abort()
    }
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  /** Kills the process and waits for its end. */
  async kill(): Promise<void> {
    if (this.#hasEnded) return
    const ended = once(this.#process, 'exit')
    if (signal(this.#process.pid as number, 'SIGKILL')) await ended
  }

  /** Disconnects the process and waits for its end. */
  async stop(): Promise<void> {
    if (this.#hasEnded) return
    const ended = once(this.#process, 'exit')
    if (this.#process.connected) this.#process.disconnect()
    await ended
  }
}
