import type { Perform, Work, WorkOptions } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { WorkLoop } from '../events/work-loop.ts'
import { ModuleError } from './host-module.ts'

/** The works of one generation. */
export class Works {
  readonly #storage: Storage
  readonly #log: FastifyBaseLogger
  readonly #loops = new Map<string, WorkLoop>()

  constructor(storage: Storage, log: FastifyBaseLogger) {
    this.#storage = storage
    this.#log = log
  }

  /** @throws {ModuleError} for a second work of that name, or options that are wrong */
  add(module: string, name: string, options: WorkOptions, perform: Perform<unknown>): Work<unknown> {
    const key = `${module}/${name}`
    if (this.#loops.has(key)) throw new ModuleError(module, `it has two works named "${name}"`)
    const { concurrency = 1, timeout = 1 } = options
    for (const [option, value] of Object.entries({ concurrency, timeout })) {
      if (Number.isInteger(value) && value >= 1) continue
      throw new ModuleError(
        module,
        `${option} of its work "${name}" is ${value}: use an integer of 1 or more`,
      )
    }
    const log = this.#log.child({ module })
    const loop = new WorkLoop({ module, name, options, perform, storage: this.#storage, log })
    this.#loops.set(key, loop)
    return loop.handle
  }

  begin(): void {
    for (const loop of this.#loops.values()) loop.begin()
  }

  /** See `WorkLoop.idle`. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.#loops.values(), (loop) => loop.idle()))
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#loops.values(), (loop) => loop.stop()))
  }
}
