import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { settles } from './settles.ts'

const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

/** Calls that change a file, or make it durable. */
const callNames = ['pwrite64', 'fsync', 'openat', 'write', 'ftruncate', 'unlink', 'rename', 'mkdir'] as const

/** The `number`th call of this name in a thread, counting only calls on `path` if it is given. */
export interface Place {
  readonly call: (typeof callNames)[number]
  readonly number: number
  /** Relative to the application folder. */
  readonly path?: string
}

/** The call that fails; with `lasting`, all later calls fail too. */
export interface Fault extends Place {
  readonly error: 'EIO' | 'ENOSPC'
  readonly lasting: boolean
}

export const faultText = ({ call, number, path, error, lasting }: Fault) =>
  `${call} ${number}${path === undefined ? '' : ` on ${path}`}${lasting ? ' and all after it' : ''} ${error}`

/** The time limit of a command, and of a host's start and stop, in milliseconds. */
const PATIENCE = 40_000

/** The `app` command under strace. */
export class TracedApp {
  readonly #child: ChildProcess
  readonly #log: string
  #stdout = ''
  #stderr = ''
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>

  /**
   * @param fault the failing call; without it, none
   * @param log the file for strace's output
   */
  constructor(directory: string, argv: readonly string[], log: string, fault?: Fault) {
    this.#log = log
    const { call = callNames.join(','), number, path, error, lasting } = fault ?? {}
    const only = path === undefined ? [] : ['-P', join(directory, path)]
    const inject = fault && ['-e', `inject=${call}:error=${error}:when=${number}${lasting ? '+' : ''}`]
    // With -D the command is a child of this process and can get signals.
    const options = ['-D', '-f', '-y', '-q', '-s', '0', '--seccomp-bpf', '-o', log, '-e', `trace=${call}`]
    const command = [process.execPath, door, ...argv, '--dir', directory, '--json']
    this.#child = spawn('strace', [...options, ...only, ...(inject ?? []), '--', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        APP_LOG_LEVEL: 'error',
        APP_RATE_LIMIT_MAX: '0',
        APP_SERVER_DRAIN_SECONDS: '0',
        npm_config_registry: 'http://127.0.0.1:1/',
        // One thread for file calls, for nearly the same order each time.
        UV_THREADPOOL_SIZE: '1',
      },
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.#stdout += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#stderr += text
    })
    this.ended = once(this.#child, 'close').then(([code, signal]) => code ?? signal)
  }

  get said(): string {
    return this.#stdout + this.#stderr
  }

  /** The URL of the host; undefined if it has ended, or does not serve in time. */
  async url(): Promise<string | undefined> {
    const { promise: served, resolve } = Promise.withResolvers<string>()
    const look = () => {
      const [, url] = /"url": "([^"]+)"/.exec(this.#stdout) ?? []
      if (url !== undefined) resolve(url)
    }
    this.#child.stdout?.on('data', look)
    look()
    return settles(Promise.race([served, this.ended.then(() => undefined)]), PATIENCE)
  }

  /** The exit of the host; undefined if it does not end, and is killed. */
  async end(): Promise<number | string | undefined> {
    const end = await settles(this.ended, PATIENCE)
    if (end === undefined) this.kill()
    return end
  }

  stop(): void {
    this.#child.kill('SIGTERM')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** The recorded calls that failed on purpose, as strace writes them. */
  async failed(): Promise<string[]> {
    return (await this.#lines()).filter((line) => line.includes('(INJECTED)'))
  }

  /**
   * The places where calls on `folder` can fail: by number, if each thread with that many calls
   * makes that call in the folder; and by path.
   */
  async placesIn(folder: string): Promise<Place[]> {
    const made = new Map<string, number>()
    const inside = new Map<string, Place & { isInside: boolean }>()
    for (const line of await this.#lines()) {
      const [, thread, name] = /^(\d+) +(\w+)\(/.exec(line) ?? []
      const call = callNames.find((one) => one === name)
      if (call === undefined) continue
      const count = (key: string) => made.set(key, (made.get(key) ?? 0) + 1).get(key) ?? 0
      const number = count(`${thread} ${call}`)
      const known = inside.get(`${call} ${number}`)?.isInside ?? true
      const [path] = line.match(/(?<=[<"])\/[^">]*/g)?.filter((one) => one.startsWith(`${folder}/`)) ?? []
      inside.set(`${call} ${number}`, { call, number, isInside: known && path !== undefined })
      // So many threads open and write other files that almost no number fits.
      if (path === undefined || (call !== 'openat' && call !== 'write')) continue
      const relative = path.slice(folder.length + 1)
      const nth = count(`${thread} ${call} ${relative}`)
      inside.set(`${call} ${nth} ${relative}`, { call, number: nth, path: relative, isInside: true })
    }
    return [...inside.values()].filter(({ isInside }) => isInside).map(({ isInside, ...place }) => place)
  }

  async #lines(): Promise<string[]> {
    return (await readFile(this.#log, 'utf8')).split('\n')
  }
}
