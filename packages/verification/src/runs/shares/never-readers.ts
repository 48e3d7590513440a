import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('never-read.pl', import.meta.url))

/** Clients that never read, in their own process, which takes no core from the host. */
export class NeverReaders {
  readonly #process: ChildProcess

  private constructor(child: ChildProcess) {
    this.#process = child
  }

  /** Resolves after each has sent its request. @throws {Error} if they cannot connect */
  static async come(port: number, count: number, addresses: readonly string[]): Promise<NeverReaders> {
    const command = 'ulimit -n "$(ulimit -Hn)"; exec nice -n 10 perl "$@"'
    const words = [script, port, count, ...addresses].map(String)
    const child = spawn('sh', ['-c', command, 'sh', ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => {
        throw new Error('the readers ended early: see their output above')
      }),
    ])
    return new NeverReaders(child)
  }

  async leave(): Promise<void> {
    const ended = once(this.#process, 'exit')
    if (this.#process.kill('SIGKILL')) await ended
  }
}
