// Imported by tests that run `app` in their own process: what a probe's child loads is loaded once for all probes of
// the process, rather than once for each. Such a child may only say yes. Where it says anything else, or nothing, a
// child of its own is asked, as the product does; that is also how every `app` runs that is a process of its own.
import childProcess, { type ChildProcess, type ForkOptions } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { readdirSync, realpathSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'

interface Request {
  /** An empty folder. */
  readonly scratch: string
}

interface Said {
  readonly kind: string
}

/** A child takes so many probes: what modules leave behind in it goes with it. */
const MOST_PROBES = 16

const warmChild = fileURLToPath(new URL('warm-probe-child.ts', import.meta.url))
const { fork } = childProcess

let warm: { readonly child: ChildProcess; probes: number; busy: boolean } | undefined

replaceFork(((program: string, args: ForkOptions | readonly string[] = [], options?: ForkOptions) => {
  if (!/probe-child\.[jt]s$/.test(program) || Array.isArray(args) || warm?.busy)
    return fork(program, args as readonly string[], options)
  return new WarmProbe(program, args as ForkOptions)
}) as typeof fork)

/** For tests of what the child's watchdog sees: from now on each probe has a child of its own, as in the product. */
export function probeCold(): void {
  replaceFork(fork)
}

function replaceFork(by: typeof fork): void {
  childProcess.fork = by
  syncBuiltinESMExports()
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
    const used = warmed(this.#program, this.#options)
    const { child } = used
    used.busy = true
    used.probes += 1
    const reports: Said[] = []
    const end = () => {
      used.busy = false
      this.#abandon = () => {}
      child.removeAllListeners('message').removeAllListeners('close')
    }
    const discard = () => {
      end()
      if (warm === used) warm = undefined
      child.kill('SIGKILL')
    }
    const askAnother = () => {
      end()
      if (warm === used) warm = undefined
      this.#fork(request)
    }
    this.#abandon = discard
    child.on('message', (said: Said) => {
      // It closes then.
      if (said.kind === 'failed') return child.kill('SIGKILL')
      if (said.kind === 'report') return reports.push(said)
      if (said.kind === 'done') {
        if (used.probes === MOST_PROBES) discard()
        else end()
        for (const report of reports) this.emit('message', report)
      }
      this.emit('message', said)
    })
    child.once('close', askAnother)
    child.send({ program: this.#program, request })
  }

  /** The probe is over. */
  override removeAllListeners(name?: string): this {
    if (name === 'close') this.#abandon()
    return super.removeAllListeners(name)
  }

  #fork(request: Request): void {
    const { scratch } = request
    for (const name of readdirSync(scratch)) rmSync(join(scratch, name), { recursive: true, force: true })
    const child = fork(this.#program, this.#options)
    this.pid = child.pid
    child.stderr?.pipe(this.stderr)
    for (const name of ['message', 'error', 'close'])
      child.on(name, (...values: unknown[]) => this.emit(name, ...values))
    child.send(request)
  }
}

function warmed(program: string, { env, execArgv = [], serialization }: ForkOptions) {
  if (warm !== undefined) return warm
  const limits = execArgv.filter((each) => !each.startsWith('--allow-fs-write='))
  const child = fork(warmChild, [program], {
    env,
    execArgv: [...limits, `--allow-fs-write=${join(realpathSync(tmpdir()), '*')}`],
    serialization,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  // It ends with this process, and does not keep it.
  child.unref()
  child.channel?.unref()
  warm = { child, probes: 0, busy: false }
  return warm
}
