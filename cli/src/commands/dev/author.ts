import { once } from 'node:events'
import { watch } from 'node:fs'
import { isServing, readLockFile } from '@mortise/application'
import { ModuleError } from '@mortise/host'
import { type Application, observeModule, withLocation } from '@mortise/host/serving'
import {
  ChangedMigration,
  type DeliverOptions,
  deliver,
  FolderWatch,
  isPart,
  specOf,
} from '@mortise/installer'
import { explain } from '@mortise/installer/explaining'
import { capitalised, changedMigration } from '@mortise/installer/failures'
import type { Terminal } from '../../terminal/terminal.ts'
import { writeManifest } from '../module-manifest.ts'
import { storageFailed } from '../start.ts'
import type { AuthorLog } from './author-log.ts'
import { Compiler, isTypeScript } from './compiler.ts'

/** An editor writes a file in several steps, within this many milliseconds. */
const PAUSE = 25

interface AuthorOptions {
  readonly module: string
  readonly directory: string
  readonly running: Application
  readonly log: AuthorLog
  readonly terminal: Terminal
  /** The reply to the question about changed migrations. */
  readonly yes: boolean
}

/** The loop of an author: save, compile, switch. */
export class Author {
  readonly #options: AuthorOptions
  readonly #stopped = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  #compiler: Compiler | undefined
  #watch: FolderWatch | undefined
  #timer: NodeJS.Timeout | undefined
  /** When the first change since the last switch was seen. */
  #since: number | undefined
  #working: Promise<void> | undefined
  #others = ''
  #isFirst = true
  /** The last code that was saved does not serve. */
  #isRefused = false

  constructor(options: AuthorOptions) {
    this.#options = options
    this.#ended.promise.catch(() => {})
    options.running.closed.then(this.#ended.resolve, (error) => this.#ended.reject(storageFailed(error)))
  }

  /** Resolves when the host has stopped. Rejects if it, or the compiler, cannot go on. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Resolves when the code was compiled and delivered once, or cannot be. */
  async begin(): Promise<void> {
    const { module, directory } = this.#options
    this.#since = performance.now()
    if (isTypeScript(module)) {
      const { promise: compiled, resolve: done } = Promise.withResolvers<void>()
      const heard = () => {
        done()
        this.#changed()
      }
      this.#compiler = new Compiler(module, this.#stopped.signal, heard, this.#ended.reject)
      await Promise.race([compiled, this.ended])
    }
    if (this.#stopped.signal.aborted) return
    this.#watch = new FolderWatch(module, (path) => {
      this.#since ??= performance.now()
      // The compiler shows when the code of a source has changed.
      if (isPart(path)) this.#changed()
    })
    this.#others = await othersOf(this.#options)
    watch(directory, { signal: this.#stopped.signal }, (_event, name) => {
      if (name === 'modules.lock.json') this.#lockChanged()
    }).on('error', () => {})
    await this.#work()
  }

  stop(): void {
    this.#stopped.abort()
    clearTimeout(this.#timer)
    this.#watch?.close()
    this.#options.running.stop('a signal', 0).catch(() => {}) // `closed` reports it
  }

  /** Resolves when nothing is left at work. */
  async end(): Promise<void> {
    this.stop()
    await this.#options.running.closed.catch(() => {})
    await this.#working
  }

  #changed(): void {
    this.#since ??= performance.now()
    clearTimeout(this.#timer)
    if (!this.#stopped.signal.aborted) this.#timer = setTimeout(() => this.#work(), PAUSE)
  }

  /** A command changed what serves beside the module, which may be what it lacked. */
  async #lockChanged(): Promise<void> {
    const others = await othersOf(this.#options).catch(() => this.#others)
    if (others === this.#others) return
    this.#others = others
    this.#changed()
  }

  async #work(): Promise<void> {
    if (this.#working !== undefined) {
      await this.#working
      return this.#changed()
    }
    this.#working = this.#deliver().finally(() => {
      this.#working = undefined
    })
    await this.#working
  }

  async #deliver(): Promise<void> {
    const { running, log } = this.#options
    // While it compiles, its end calls again.
    if (this.#compiler !== undefined && this.#compiler.errors === undefined) return
    const errors = this.#compiler?.errors ?? []
    const since = this.#since ?? performance.now()
    this.#since = undefined
    const [isFirst, served] = [this.#isFirst, running.state().modules.length > 0]
    this.#isFirst = false
    const stays = served ? 'The previous code still serves.' : 'Nothing serves yet.'
    const wasRefused = this.#isRefused
    this.#isRefused = true
    if (errors.length > 0) {
      const count = errors.length === 1 ? '1 type error' : `${errors.length} type errors`
      return log.note(`${errors.join('\n')}\n${count}. ${stays}`)
    }
    try {
      const delivered = await this.#deliverOnce()
      const seconds = ((performance.now() - since) / 1000).toFixed(2)
      if (delivered) {
        const after = isFirst ? '' : `, ${seconds} s after the save`
        log.note(`Serves ${delivered.id} ${delivered.version}${after}.`)
      } else if (isFirst || wasRefused) log.note('The code that serves is the saved code.')
      this.#isRefused = false
    } catch (error) {
      if (this.#stopped.signal.aborted) return
      const { message, hint } = await explain(error)
      const advice = error instanceof ModuleError ? [] : [hint]
      log.note([message, ...advice, stays].join('\n'))
    } finally {
      log.isSwitching = false
    }
  }

  async #deliverOnce() {
    const { module, directory, running, log, terminal, yes } = this.#options
    const options: Omit<DeliverOptions, 'remakesTables'> = {
      ...{ module, directory, log, terminal },
      serves: (id) => running.state().modules.some((one) => one.id === id && isServing(one)),
      writeManifest: async (staging, { name }) => {
        await writeManifest(module, false, (_, requires = []) => registerOnce(staging, name, requires))
      },
    }
    try {
      return await deliver({ ...options, remakesTables: false })
    } catch (error) {
      if (!(error instanceof ChangedMigration)) throw error
      const refused = changedMigration({ reason: error.message })
      if (!yes && !terminal.interactive) throw refused
      const question = `${capitalised(error.message)}.\nCreate the tables of ${error.id} again? Their rows are lost.`
      // Nobody responds once it is stopped.
      const stopped = once(this.#stopped.signal, 'abort').then(() => false)
      if (!yes && !(await Promise.race([terminal.confirm(question), stopped]))) throw refused
      return await deliver({ ...options, remakesTables: true })
    }
  }
}

/** The other modules of the application, to compare. */
async function othersOf({ directory, module }: AuthorOptions): Promise<string> {
  const { modules } = await readLockFile(directory)
  const own = specOf(directory, module)
  return JSON.stringify(Object.entries(modules).filter(([, { spec }]) => spec !== own))
}

/** @throws {ModuleError} with file and line */
async function registerOnce(directory: string, name: string, requires: readonly string[]) {
  try {
    return await observeModule(directory, name, requires, { confined: true })
  } catch (error) {
    if (error instanceof ModuleError) throw error
    throw new ModuleError(name, `registering it failed: ${withLocation(error, directory)}`, { cause: error })
  }
}
