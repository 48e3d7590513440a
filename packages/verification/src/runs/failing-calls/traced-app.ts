import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { App } from '../../harness/app.ts'

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
export class TracedApp extends App {
  readonly #log: string

  /**
   * @param log the file for strace's output
   * @param fault the failing call; without it, none
   */
  constructor(directory: string, argv: readonly string[], log: string, fault?: Fault) {
    const { call = callNames.join(','), number, path, error, lasting } = fault ?? {}
    const only = path === undefined ? [] : ['-P', join(directory, path)]
    const inject = fault ? ['-e', `inject=${call}:error=${error}:when=${number}${lasting ? '+' : ''}`] : []
    // With -D the command is a child of this process and can get signals.
    const options = ['-D', '-f', '-y', '-q', '-s', '0', '--seccomp-bpf', '-o', log, '-e', `trace=${call}`]
    super(directory, argv, {
      under: ['strace', ...options, ...only, ...inject, '--'],
      // One thread for file calls, for nearly the same order each time.
      environment: { UV_THREADPOOL_SIZE: '1' },
    })
    this.#log = log
  }

  /** The exit code, or the signal that ended it; undefined if it does not end, and is killed. */
  async howItEnds(): Promise<number | string | undefined> {
    const { how } = await this.within(PATIENCE)
    return how === 'SIGKILL' ? undefined : how
  }

  /** The recorded calls that failed on purpose, as strace writes them. */
  async failed(): Promise<string[]> {
    const lines = await this.#lines()
    return lines.filter((line) => line.includes('(INJECTED)')).map((line) => line.slice(0, 200))
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
