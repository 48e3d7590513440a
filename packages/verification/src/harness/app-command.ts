import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Figures } from './figures.ts'

/** The file that `app` runs. */
export const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

export interface Ended {
  /** Undefined if it was killed. */
  readonly exitCode: number | undefined
  /** The document on stdout, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the command returns
  readonly json: any
  readonly said: string
}

/** No user configuration, and no request to a registry. */
export const environment = (directory: string) => ({
  ...process.env,
  npm_config_cache: join(directory, '..', 'npm-cache'),
  npm_config_userconfig: join(directory, '..', 'no.npmrc'),
  npm_config_registry: 'http://127.0.0.1:1/',
})

/**
 * Runs the real command.
 * @param killAfter sends SIGKILL after this time, in milliseconds
 */
export async function runApp(directory: string, argv: readonly string[], killAfter?: number): Promise<Ended> {
  const child = spawn(process.execPath, [door, ...argv, '--dir', directory, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(directory),
    ...(killAfter === undefined ? {} : { timeout: killAfter, killSignal: 'SIGKILL' as const }),
  })
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { exitCode: code ?? undefined, json: out === '' ? undefined : JSON.parse(out), said: `${out}${err}` }
}

/** The host as `app start` runs it, with a preloaded module that returns its figures. */
export class Host {
  readonly #process: ChildProcess
  readonly port: number

  private constructor(child: ChildProcess, port: number) {
    this.#process = child
    this.port = port
  }

  /** @param workers the number of processes; with workers there are no figures */
  static async start(directory: string, workers?: number): Promise<Host> {
    const measure = new URL('measure.ts', import.meta.url).href
    const more = workers === undefined ? ['--no-supervisor'] : ['--workers', `${workers}`]
    const child = fork(door, ['start', '--port', '0', '--dir', directory, '--json', ...more], {
      execArgv: workers === undefined ? ['--expose-gc', '--no-warnings', '--import', measure] : [],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: {
        ...environment(directory),
        APP_LOG_LEVEL: 'fatal',
        APP_RATE_LIMIT_MAX: '0',
        APP_SERVER_MAX_CONNECTIONS_PER_ADDRESS: '0',
        APP_SERVER_DRAIN_SECONDS: '0',
      },
    })
    const [bytes] = await Promise.race([
      once(child.stdout as NodeJS.ReadableStream, 'data'),
      once(child, 'exit').then(() => {
        throw new Error('the host ended while it started: see what it wrote above')
      }),
    ])
    const { url } = JSON.parse(String(bytes))
    if (url === undefined) throw new Error(`the host did not start: ${bytes}`)
    return new Host(child, Number(new URL(url).port))
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  async figures(): Promise<Figures> {
    this.#process.send({})
    const [figures] = await once(this.#process, 'message')
    return figures
  }

  /** Sends SIGKILL and waits for the end. */
  async kill(): Promise<void> {
    if (this.hasEnded) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  /** @returns the exit code, or the signal that ended the process */
  async stop(): Promise<number | string> {
    if (!this.hasEnded) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGTERM')
      await ended
    }
    return this.#process.exitCode ?? this.#process.signalCode ?? 'unknown'
  }
}
