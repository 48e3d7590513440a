import { type ChildProcess, fork, type SendHandle } from 'node:child_process'
import { once } from 'node:events'
import { url as debuggerUrl } from 'node:inspector'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { FromServing, ToServing } from '@mortise/host/supervising'
import { exitCodes } from '@mortise/installer/failures'
import { calledFolder } from './pinned/pinned-host.ts'

// The parent of `app start`: it starts the host as a child, and again when that ends. It loads little
// more than Node, since it lives as long as the host. It keeps the listening socket of the host, and
// accepts nothing: connections wait in it while no host serves.

/** A host that has served this long, in milliseconds, does not end for the previous reason. */
const STEADY_AFTER = 30_000
/** The pauses before the host starts again, in milliseconds: the first, and the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 1_000
/** This many quick ends in a row are the last. */
const MOST_ENDS = 6
/** A host that was asked to end is killed this long after its drain, in milliseconds. */
const END_TIMEOUT = 13_000
/** A start that ends so would end the same the next time. */
const lastingEnds: readonly (number | null)[] = [exitCodes.usage, exitCodes.notFound, exitCodes.refused]

/** Names the parent in the environment of a host. */
const PARENT = 'MORTISE_PARENT'

/** Options of a start that hold once. */
const firstOnly = ['--new-database', '--new-secret']

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Whether this process is to be the parent of a host. A debugger is for the process that serves. */
export function keepsServing(argv: readonly string[]): boolean {
  if (PARENT in process.env || 'MORTISE_WORKER' in process.env || debuggerUrl() !== undefined) return false
  const options = {
    dir: { type: 'string' },
    workers: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  const { values, positionals } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
  })
  const isAlone = values.workers === undefined || values.workers === '1'
  return positionals[0] === 'start' && isAlone && !values.help && !values['no-supervisor']
}

/** Runs `app start` in a child until it ends for good. @returns the exit code */
export async function keepServing(argv: readonly string[]): Promise<number> {
  const parent = new Parent(argv)
  for (const name of signals) process.on(name, () => parent.stop(name))
  return await parent.run()
}

class Parent {
  readonly #argv: readonly string[]
  readonly #stopping = new AbortController()
  #child: ChildProcess | undefined
  /** The socket of the host, once it has listened, and what it listens on. */
  #socket: { readonly handle: SendHandle & { close(): void }; readonly on: string } | undefined
  #drain = 0
  #servesSince: number | undefined
  #hasServed = false

  constructor(argv: readonly string[]) {
    this.#argv = argv
  }

  async run(): Promise<number> {
    let previous: string | undefined
    for (let ends = 0; ; ) {
      const [code, signal] = await this.#serveOnce(previous)
      if (this.#stopping.signal.aborted || code === 0) return codeOf(code, signal)
      const hasBegun = this.#servesSince !== undefined
      if (code !== null && !hasBegun && (!this.#hasServed || lastingEnds.includes(code))) return code
      ends = this.#servedFor > STEADY_AFTER ? 1 : ends + 1
      previous = `process ${this.#child?.pid} ${signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`}`
      if (ends >= MOST_ENDS) {
        say(
          `The host stopped because its process keeps ending: ${previous}.`,
          'Look in its log for the reason, correct it, then start it again.',
        )
        return exitCodes.fatal
      }
      const wait = Math.min(FIRST_PAUSE * 2 ** (ends - 1), LONGEST_PAUSE)
      say(`The host ended: ${previous}. It starts again in ${wait} ms.`)
      await pause(wait, undefined, { signal: this.#stopping.signal }).catch(() => {})
      if (this.#stopping.signal.aborted) return 0
    }
  }

  /** Passes a signal on, and kills a host that does not end. */
  stop(name: NodeJS.Signals): void {
    const isFirst = !this.#stopping.signal.aborted
    this.#stopping.abort()
    this.#child?.kill(name)
    if (!isFirst) return
    // The host closes its port when it is ready to: then nobody is to wait here.
    this.#socket?.handle.close()
    this.#socket = undefined
    setTimeout(() => this.#child?.kill('SIGKILL'), this.#drain + END_TIMEOUT).unref()
  }

  /** In milliseconds, until now. */
  get #servedFor(): number {
    return this.#servesSince === undefined ? 0 : performance.now() - this.#servesSince
  }

  /** @returns how the host ended */
  async #serveOnce(
    previous: string | undefined,
  ): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
    const argv = this.#argv.filter((word) => previous === undefined || !firstOnly.includes(word))
    const child = fork(join(calledFolder(), 'bin.js'), argv, {
      env: { ...process.env, [PARENT]: `${process.pid}` },
    })
    this.#child = child
    this.#servesSince = undefined
    const ended = once(child, 'exit')
    child.on('error', () => {})
    child.on('message', (message: FromServing, handle: unknown) => this.#hear(message, handle))
    const message: ToServing = {
      type: 'begin',
      previous,
      hasServed: this.#hasServed,
      listensOn: this.#socket?.on,
    }
    // It may have ended already.
    child.send(message, this.#socket?.handle, () => {})
    const [code, signal] = await ended
    return [code, signal]
  }

  #hear(message: FromServing, handle: unknown): void {
    if (message.type === 'listens') {
      this.#socket?.handle.close()
      this.#socket = { handle: handle as SendHandle & { close(): void }, on: message.on }
    } else {
      this.#drain = message.drainSeconds * 1000
      this.#servesSince = performance.now()
      this.#hasServed = true
    }
  }
}

/** As a shell has it for a process that a signal ended. */
function codeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + constants.signals[signal as NodeJS.Signals]
}

/** To stderr, where the log of the host is. */
function say(...lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`)
}
