import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

/** The time limit of a host's start, in milliseconds. */
const START = 30_000

/**
 * A prefix for `app` that limits the process: `sh -c 'ulimit -n 128; exec "$@"' sh`. One array
 * element per argument.
 */
export type Confinement = readonly string[]

export interface ConfinedOptions {
  readonly directory: string
  readonly confinement: Confinement
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The working directory of the process. */
  readonly cwd?: string
}

/**
 * Runs an `app` command.
 * @returns its exit code and output
 */
export async function runConfined(options: ConfinedOptions, argv: readonly string[]) {
  const child = spawnConfined(options, [...argv, '--json'])
  const [[code], out, err] = await Promise.all([
    once(child, 'close'),
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ])
  return { exitCode: code as number | null, said: `${out}${err}` }
}

/** A host as `app start` runs it, with its log. */
export class ConfinedHost {
  readonly #process: ChildProcess
  readonly url: string
  readonly #log: string[]

  private constructor(child: ChildProcess, url: string, log: string[]) {
    this.#process = child
    this.url = url
    this.#log = log
  }

  /** @throws {Error} with its output, if the host ends instead */
  static async start(options: ConfinedOptions): Promise<ConfinedHost> {
    const child = spawnConfined(options, ['start', '--no-supervisor', '--port', '0', '--json'])
    const log: string[] = []
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => log.push(chunk))
    const signal = AbortSignal.timeout(START)
    try {
      const [bytes] = await Promise.race([
        once(child.stdout as NodeJS.ReadableStream, 'data', { signal }),
        once(child, 'exit', { signal }).then(() => Promise.reject(new Error('it ended'))),
      ])
      return new ConfinedHost(child, JSON.parse(String(bytes)).url, log)
    } catch (error) {
      child.kill('SIGKILL')
      throw new Error(`the host did not start: ${(error as Error).message}: ${log.join('').slice(-500)}`)
    }
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  /** The exit and the last output. */
  get end(): string {
    return `${this.#process.exitCode ?? this.#process.signalCode}: ${this.log.slice(-300)}`
  }

  get log(): string {
    return this.#log.join('')
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }
}

function spawnConfined(
  { directory, confinement, environment, cwd }: ConfinedOptions,
  argv: readonly string[],
): ChildProcess {
  const [program, ...words] = [...confinement, process.execPath, door, ...argv, '--dir', directory]
  return spawn(program as string, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    env: {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:1/',
      APP_RATE_LIMIT_MAX: '0',
      APP_SERVER_MAX_CONNECTIONS_PER_ADDRESS: '0',
      APP_SERVER_DRAIN_SECONDS: '0',
      ...environment,
    },
  })
}
