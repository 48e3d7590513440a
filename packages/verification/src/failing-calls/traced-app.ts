import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { settles } from './settles.ts'

const door = fileURLToPath(new URL('bin.js', import.meta.resolve('@mortise/cli/package.json')))

/** What changes a file, or makes it last. */
export const callNames = [
  'pwrite64',
  'fsync',
  'openat',
  'write',
  'ftruncate',
  'unlink',
  'rename',
  'mkdir',
] as const

/** The `number`th call of this name that a thread makes fails; `lasting`: all that follow, too. */
export interface Fault {
  readonly call: (typeof callNames)[number]
  readonly number: number
  readonly error: 'EIO' | 'ENOSPC'
  readonly lasting: boolean
}

export const faultText = ({ call, number, error, lasting }: Fault) =>
  `${call} ${number}${lasting ? ' and all after it' : ''} ${error}`

/** How long a command may take, or a host to start or to end, in milliseconds. */
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
   * @param fault what fails; without, nothing
   * @param log where strace writes
   */
  constructor(directory: string, argv: readonly string[], log: string, fault?: Fault) {
    this.#log = log
    const { call = callNames.join(','), number, error, lasting } = fault ?? {}
    const inject = fault && ['-e', `inject=${call}:error=${error}:when=${number}${lasting ? '+' : ''}`]
    // With -D the command is the child of this process, so that it can be signalled.
    const options = ['-D', '-f', '-y', '-q', '-s', '0', '--seccomp-bpf', '-o', log, '-e', `trace=${call}`]
    const command = [process.execPath, door, ...argv, '--dir', directory, '--json']
    this.#child = spawn('strace', [...options, ...(inject ?? []), '--', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        APP_LOG_LEVEL: 'error',
        APP_RATE_LIMIT_MAX: '0',
        APP_SERVER_DRAIN_SECONDS: '0',
        npm_config_registry: 'http://127.0.0.1:1/',
        // One thread for file calls: nearly in the same order each time.
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

  /** Where the host serves; undefined where it has ended, or does not serve in time. */
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

  /** How it ends by itself; undefined where it does not, and is killed. */
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

  /** The calls on record that failed on purpose, as strace writes them. */
  async failed(): Promise<string[]> {
    return (await this.#lines()).filter((line) => line.includes('(INJECTED)'))
  }

  /** By call, the numbers that are a call on something in `folder` in each thread that has made so many. */
  async callsIn(folder: string): Promise<Map<Fault['call'], number[]>> {
    const made = new Map<string, number>()
    const inside = new Map(callNames.map((name) => [name, new Map<number, boolean>()]))
    for (const line of await this.#lines()) {
      const [, thread, call] = /^(\d+) +(\w+)\(/.exec(line) ?? []
      if (call === undefined) continue
      const number = (made.get(`${thread} ${call}`) ?? 0) + 1
      made.set(`${thread} ${call}`, number)
      const numbers = inside.get(call as Fault['call'])
      numbers?.set(number, line.includes(folder) && numbers.get(number) !== false)
    }
    return new Map(
      [...inside].map(([call, numbers]) => [
        call,
        [...numbers.keys()].filter((number) => numbers.get(number)),
      ]),
    )
  }

  async #lines(): Promise<string[]> {
    return (await readFile(this.#log, 'utf8')).split('\n')
  }
}
