import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessFigures } from './measure.ts'
import { signal } from './signal.ts'

/** The file that `app` runs. */
const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

/** The time limit of a host's start, in milliseconds. */
const START = 60_000

export interface AppOptions {
  /** Runs Node, such as strace with its options, or `sh -c 'ulimit -n 128; exec "$@"' sh`. */
  readonly under?: readonly string[]
  /** More variables; undefined removes one. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** More standard streams than three. */
  readonly pipes?: readonly 'pipe'[]
  /** Kills the process after this time, in milliseconds. */
  readonly killAfter?: number | undefined
  /** Preloads what returns the figures of the process. */
  readonly measures?: boolean
}

export interface Ended {
  /** Undefined if it was killed. */
  readonly exitCode: number | undefined
  /** The exit code, or the signal that ended it. */
  readonly how: number | string
  /** The document on stdout, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the command returns
  readonly json: any
  readonly said: string
  readonly seconds: number
}

/** An `app` command in a process of its own, or a host. It asks no registry, and has no user's configuration. */
export class App {
  readonly child: ChildProcess
  /** The end of the process and of its output. */
  readonly ended: Promise<Ended>
  stdout = ''
  stderr = ''
  /** The URL of a host that serves. */
  url = ''

  constructor(directory: string, argv: readonly string[], options: AppOptions = {}) {
    const { under = [], environment, cwd, pipes = [], killAfter, measures = false } = options
    const beside = (name: string) => join(dirname(directory), name)
    const preload = ['--expose-gc', '--import', new URL('measure.ts', import.meta.url).href]
    const node = [process.execPath, '--no-warnings', ...(measures ? preload : []), door]
    const [program = '', ...words] = [...under, ...node, ...argv, '--dir', directory, '--json']
    const begun = performance.now()
    this.child = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe', ...pipes, ...(measures ? (['ipc'] as const) : [])],
      ...(cwd !== undefined && { cwd }),
      env: {
        ...process.env,
        npm_config_cache: beside('npm-cache'),
        npm_config_userconfig: beside('no.npmrc'),
        npm_config_registry: 'http://127.0.0.1:1/',
        APP_LOG_LEVEL: 'error',
        // All load comes from this machine.
        APP_RATE_LIMIT_MAX: '0',
        APP_SERVER_MAX_CONNECTIONS_PER_ADDRESS: '0',
        APP_SERVER_DRAIN_SECONDS: '0',
        ...environment,
      },
      ...(killAfter !== undefined && { timeout: killAfter, killSignal: 'SIGKILL' }),
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    this.ended = once(this.child, 'close').then(([code, signal]) => ({
      exitCode: code ?? undefined,
      how: code ?? signal,
      json: jsonIn(this.stdout),
      said: this.said,
      seconds: (performance.now() - begun) / 1000,
    }))
  }

  get said(): string {
    return this.stdout + this.stderr
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** The exit and the last output. */
  get end(): string {
    return `${this.child.exitCode ?? this.child.signalCode}: ${this.said.slice(-300)}`
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /**
   * Waits until the host serves.
   * @throws {Error} with its output, if it ends instead, or takes longer than a minute
   */
  async serving(): Promise<string> {
    const signal = AbortSignal.timeout(START)
    while (jsonIn(this.stdout)?.url === undefined) {
      const more = once(this.child.stdout as NodeJS.ReadableStream, 'data', { signal }).then(() => false)
      if (!(await Promise.race([this.ended.then(() => true), more]).catch(() => true))) continue
      this.signal('SIGKILL')
      throw new Error(`the host did not start: ${this.end}`)
    }
    this.url = jsonIn(this.stdout).url
    return this.url
  }

  /** Kills the process if it has not ended after this many milliseconds. */
  async within(limit: number): Promise<Ended> {
    const timer = setTimeout(() => this.signal('SIGKILL'), limit)
    try {
      return await this.ended
    } finally {
      clearTimeout(timer)
    }
  }

  /** The figures of a process that `measures`. */
  async figures(): Promise<ProcessFigures> {
    this.child.send({})
    const [figures] = await once(this.child, 'message')
    return figures
  }

  /** @returns false if the process has ended */
  signal(name: NodeJS.Signals): boolean {
    return !this.hasEnded && signal(this.child.pid as number, name)
  }

  /** Sends SIGKILL, also to a stopped process, and waits for its end. */
  async kill(): Promise<void> {
    if (this.hasEnded) return
    this.signal('SIGKILL')
    await this.ended
  }

  /** Sends SIGTERM. @returns the exit code, or the signal that ended the process */
  async stop(): Promise<number | string> {
    this.signal('SIGTERM')
    return (await this.ended).how
  }
}

/**
 * The words of the command that serves. Nothing starts it again: what happens to the process is for the
 * run to see.
 * @param workers the number of processes; undefined: one
 */
export const startWords = (workers?: number): readonly string[] => [
  ...['start', '--port', '0'],
  ...(workers === undefined ? ['--no-supervisor'] : ['--workers', `${workers}`]),
]

/** Runs a command. */
export function runApp(directory: string, argv: readonly string[], options?: AppOptions): Promise<Ended> {
  return new App(directory, argv, options).ended
}

/** @throws {Error} if a command does not end with 0 */
export async function mustRun(
  directory: string,
  commands: readonly (readonly string[])[],
  options?: AppOptions,
): Promise<void> {
  for (const argv of commands) {
    const { how, said } = await runApp(directory, argv, options)
    if (how !== 0) throw new Error(`app ${argv.join(' ')} ended with ${how}: ${said}`)
  }
}

/** A host as `app start` runs it, when it serves. @throws {Error} if it ends instead */
export async function startHost(
  directory: string,
  { workers, ...options }: AppOptions & { readonly workers?: number | undefined } = {},
): Promise<App> {
  const host = new App(directory, startWords(workers), options)
  await host.serving()
  return host
}

function jsonIn(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
