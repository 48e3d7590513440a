// Imported by tests that run `app` in their own process: what the child of a probe loads is loaded once for all probes
// of the process, rather than once for each. A child that has probed before may only say yes: where it says anything
// else, one that has not is asked. Where that one ends without a response, a child of its own is asked, as the product
// does; that is also how every `app` runs that is a process of its own. The same child describes tables.
import childProcess, { type ChildProcess, type ExecFileOptions, type ForkOptions } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { readdirSync, realpathSync, rmSync } from 'node:fs'
import { getCompileCacheDir, syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

interface Request {
  /** An empty folder. */
  readonly scratch: string
}

/** What the warm child is asked: a probe, or the tables of a set of migrations. */
export type Asked =
  | { readonly program: string; readonly request: Request }
  | { readonly program: string; readonly id: number; readonly set: unknown }

interface Said {
  readonly kind: string
}

interface Warm {
  readonly child: ChildProcess
  /** How many it has been asked for. */
  probes: number
  busy: boolean
}

/** A child takes so many probes: what modules leave behind in it goes with it. */
const MOST_PROBES = 32

/** A statement that takes longer, in milliseconds, may be without end: the product's own child ends it. */
const TABLES_TIMEOUT = 5_000

const warmChild = fileURLToPath(new URL('warm-probe-child.ts', import.meta.url))
const { execFile, fork } = childProcess

let warm: Warm | undefined
/** Of the last probe: without one, no child has been started. */
let limits: ForkOptions | undefined
let described = 0

/** With what other processes of the run have compiled. */
const forkCold = (program: string, options: ForkOptions = {}): ChildProcess => {
  const { NODE_COMPILE_CACHE } = process.env
  const folder = getCompileCacheDir()
  if (NODE_COMPILE_CACHE === undefined || folder === undefined) return fork(program, options)
  const compiled = join(dirname(folder), '*')
  const allowed = [`--allow-fs-read=${compiled}`, `--allow-fs-write=${compiled}`]
  const execArgv = [...(options.execArgv ?? []), ...allowed]
  return fork(program, { ...options, execArgv, env: { ...options.env, NODE_COMPILE_CACHE } })
}

const isProbe = (program: string, options: unknown): options is ForkOptions =>
  /probe-child\.[jt]s$/.test(program) && !Array.isArray(options)

replace(
  ((program: string, options?: ForkOptions | readonly string[], more?: ForkOptions) => {
    if (!isProbe(program, options)) return fork(program, options as readonly string[], more)
    return warm?.busy ? forkCold(program, options) : new WarmProbe(program, options)
  }) as typeof fork,
  Object.assign((...call: Parameters<typeof execFile>) => execFile(...call), {
    [promisify.custom]: async (file: string, args: readonly string[], options: ExecFileOptions) => {
      const [program = '', set = '', , kind] = args
      const isAsked = /describe-tables-child\.js$/.test(program) && kind === 'tables'
      const tables = isAsked && (await tablesOf(program, set))
      if (tables) return { stdout: JSON.stringify({ tables }), stderr: '' }
      return await promisify(execFile)(file, args, options)
    },
  }) as unknown as typeof execFile,
)

/** For tests of what the child's watchdog sees: from now on each probe has a child of its own, as in the product. */
export function probeCold(): void {
  replace(
    ((program: string, options?: ForkOptions | readonly string[], more?: ForkOptions) =>
      isProbe(program, options)
        ? forkCold(program, options)
        : fork(program, options as readonly string[], more)) as typeof fork,
    execFile,
  )
}

function replace(forkBy: typeof fork, execFileBy: typeof execFile): void {
  Object.assign(childProcess, { fork: forkBy, execFile: execFileBy })
  syncBuiltinESMExports()
}

/** Undefined where the warm child does not know. */
async function tablesOf(program: string, set: string): Promise<unknown> {
  if (limits === undefined) return undefined
  const used = warmed(limits)
  const id = described++
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const hear = (said: Said & { readonly id?: number; readonly tables?: unknown }) => {
    if (said.kind === 'tables' && said.id === id) resolve(said.tables)
  }
  const close = () => resolve(undefined)
  used.child.on('message', hear).once('close', close)
  // Its close is not waited for: it does not keep this process.
  const timer = setTimeout(() => {
    end(used)
    close()
  }, TABLES_TIMEOUT)
  used.child.send({ program, id, set: JSON.parse(set) } satisfies Asked)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    used.child.off('message', hear).off('close', close)
  }
}

/** The child that is asked from now on, if none is. */
function warmed(options: ForkOptions): Warm {
  limits = options
  if (warm !== undefined) return warm
  const given = options.execArgv ?? []
  // Without the program that takes the network away, where there is one.
  const flags = given.slice(given.indexOf(process.execPath) + 1)
  const execArgv = flags.filter((each) => !each.startsWith('--allow-fs-'))
  const child = forkCold(warmChild, {
    env: options.env,
    execArgv: [...execArgv, '--allow-fs-read=*', `--allow-fs-write=${join(realpathSync(tmpdir()), '*')}`],
    serialization: options.serialization,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  // It ends with this process, and does not keep it.
  child.unref()
  child.channel?.unref()
  const started: Warm = { child, probes: 0, busy: false }
  // What a module has left behind may end it at any time.
  child.once('close', () => end(started)).on('error', () => {})
  warm = started
  return started
}

function end(used: Warm): void {
  if (warm === used) warm = undefined
  used.child.kill('SIGKILL')
}

/** A probe's child, as far as the probe uses it. */
class WarmProbe extends EventEmitter {
  readonly stderr = new PassThrough()
  /** Of the child of its own, where it comes to that: it is killed by it. */
  pid: number | undefined
  readonly #program: string
  readonly #options: ForkOptions
  #abandon = () => {}

  constructor(program: string, options: ForkOptions) {
    super()
    this.#program = program
    this.#options = options
  }

  send(request: Request): void {
    const used = warmed(this.#options)
    const { child } = used
    used.busy = true
    used.probes += 1
    const reports: Said[] = []
    const leave = () => {
      used.busy = false
      this.#abandon = () => {}
      child.off('message', hear).off('close', askAnother)
    }
    const askAnother = () => {
      leave()
      end(used)
      for (const name of readdirSync(request.scratch))
        rmSync(join(request.scratch, name), { recursive: true, force: true })
      if (used.probes > 1) this.send(request)
      else this.#fork(request)
    }
    const hear = (said: Said) => {
      if (said.kind === 'tables') return
      if (said.kind === 'report') return reports.push(said)
      const isNo = said.kind === 'failed'
      if (isNo && used.probes > 1) return askAnother()
      if (isNo || said.kind === 'done') {
        leave()
        if (used.probes >= MOST_PROBES) end(used)
        for (const report of reports) this.emit('message', report)
      }
      this.emit('message', said)
    }
    this.#abandon = () => {
      leave()
      end(used)
    }
    child.on('message', hear).once('close', askAnother)
    child.send({ program: this.#program, request } satisfies Asked)
  }

  /** The probe is over. */
  override removeAllListeners(name?: string): this {
    if (name === 'close') this.#abandon()
    return super.removeAllListeners(name)
  }

  #fork(request: Request): void {
    const child = forkCold(this.#program, this.#options)
    this.pid = child.pid
    child.stderr?.pipe(this.stderr)
    for (const name of ['message', 'error', 'close'])
      child.on(name, (...values: unknown[]) => this.emit(name, ...values))
    child.send(request)
  }
}
