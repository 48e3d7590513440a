import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

/** The words of a command whose host is the process itself: what happens to it is a run's to see. */
export const inOneProcess = ([name = '', ...more]: readonly string[]): string[] =>
  name === 'start' ? [name, '--no-supervisor', ...more] : [name, ...more]

export interface Ended {
  /** Undefined if it was killed. */
  readonly exitCode: number | undefined
  // biome-ignore lint/suspicious/noExplicitAny: whatever the command returns
  readonly document: any
  readonly said: string
  readonly seconds: number
}

/** An `app` command, or a host, that a run sends signals to. */
export class AppProcess {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  #out = ''
  #err = ''

  /**
   * @param database a URL, if the application is not on SQLite
   * @param environment more variables
   */
  constructor(
    directory: string,
    database: string | undefined,
    argv: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const beside = (name: string) => join(dirname(directory), name)
    const begun = performance.now()
    const child = spawn(process.execPath, [door, ...inOneProcess(argv), '--dir', directory, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...(database !== undefined && { APP_DATABASE: database }),
        npm_config_cache: beside('npm-cache'),
        npm_config_userconfig: beside('no.npmrc'),
        npm_config_registry: 'http://127.0.0.1:1/',
        APP_LOG_LEVEL: 'error',
        APP_RATE_LIMIT_MAX: '0',
        APP_SERVER_DRAIN_SECONDS: '0',
        ...environment,
      },
    })
    child.stdout.setEncoding('utf8').on('data', (text) => {
      this.#out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#err += text
    })
    this.#child = child
    this.ended = once(child, 'close').then(([code]) => ({
      exitCode: code ?? undefined,
      document: documentIn(this.#out),
      said: `${this.#out}${this.#err}`,
      seconds: (performance.now() - begun) / 1000,
    }))
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** Kills the process if it has not ended shortly after this many milliseconds. */
  async endedWithin(limit: number): Promise<Ended> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), limit + 5_000)
    try {
      return await this.ended
    } finally {
      clearTimeout(timer)
    }
  }

  /** The first document of a host, printed when it serves. */
  async firstDocument<Document>(): Promise<Document> {
    for (;;) {
      const document = documentIn(this.#out)
      if (document?.url !== undefined) return document
      const more = await Promise.race([pause(50), this.ended])
      if (more !== undefined) throw new Error(`the host ended while it started: ${more.said}`)
    }
  }

  /** @returns false if the process has ended */
  signal(name: NodeJS.Signals): boolean {
    return this.#child.kill(name)
  }

  async end(): Promise<void> {
    this.#child.kill('SIGCONT')
    this.#child.kill('SIGKILL')
    await this.ended
  }
}

function documentIn(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
