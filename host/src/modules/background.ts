import type { EventLog, Perform, React, Work, WorkOptions } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'
import { kindOf } from '@mortise/storage'
import { EventHandlerLoop, type EventHandlerLoopOptions } from '../events/event-handler-loop.ts'
import { WorkLoop } from '../events/work-loop.ts'
import { ModuleError } from './host-module.ts'

interface Parts extends Pick<EventHandlerLoopOptions, 'storage' | 'log'> {
  readonly events: EventLog
  /** The modules whose handlers and works run; those of the others wait. */
  readonly serving: ReadonlySet<string>
}

/** The event handlers and the works of one generation. */
export class Background {
  readonly #parts: Parts
  readonly #handlers = new Map<string, Map<string, React>>()
  readonly #reacting: EventHandlerLoop[] = []
  readonly #paused: EventHandlerLoop[] = []
  readonly #works = new Map<string, WorkLoop>()
  #isNew = true

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws {ModuleError} for an undeclared type, a second handler, or an async one */
  on({ id, listensTo = [] }: Manifest, type: string, react: React): void {
    if (!listensTo.includes(type)) {
      throw new ModuleError(id, `it handles "${type}", which its manifest does not name in "listensTo"`)
    }
    if (kindOf(react)?.startsWith('Async')) {
      throw new ModuleError(id, `it handles "${type}" with an async function: write function* (event) { … }`)
    }
    const handlers = this.#handlers.get(id) ?? new Map<string, React>()
    if (handlers.has(type)) throw new ModuleError(id, `it has two handlers for "${type}"`)
    if (handlers.size === 0) {
      const loop = new EventHandlerLoop({ ...this.#partsFor(id), handlers })
      ;(this.#parts.serving.has(id) ? this.#reacting : this.#paused).push(loop)
    }
    this.#handlers.set(id, handlers.set(type, react))
  }

  /** The declared types without a handler. A module with `*` may also just read events. */
  missing({ id, listensTo = [] }: Manifest): string[] {
    return listensTo.filter((type) => type !== '*' && !this.#handlers.get(id)?.has(type))
  }

  /** @throws {ModuleError} for a second work of that name, or options that are wrong */
  work(module: string, name: string, options: WorkOptions, perform: Perform<unknown>): Work<unknown> {
    const key = `${module}/${name}`
    if (this.#works.has(key)) throw new ModuleError(module, `it has two works named "${name}"`)
    const { concurrency = 1, timeout = 1 } = options
    for (const [option, value] of Object.entries({ concurrency, timeout })) {
      if (Number.isInteger(value) && value >= 1) continue
      throw new ModuleError(
        module,
        `${option} of its work "${name}" is ${value}: use an integer of 1 or more`,
      )
    }
    const loop = new WorkLoop({ ...this.#partsFor(module), name, options, perform })
    this.#works.set(key, loop)
    return loop.handle
  }

  #partsFor(module: string) {
    return { ...this.#parts, module, log: this.#parts.log.child({ module }) }
  }

  get #working() {
    return [...this.#works.values()].filter(({ module }) => this.#parts.serving.has(module))
  }

  get #loops() {
    return [...this.#reacting, ...this.#working]
  }

  /** Call it when the generation serves. Resolves when no later event can be missed. */
  async begin(): Promise<void> {
    if (!this.#isNew) return
    this.#isNew = false
    const begun = this.#loops.map((loop) => loop.begin())
    await Promise.all([...begun, ...this.#paused.map((loop) => loop.subscribe())])
  }

  /** Resolves when all events and due jobs are done, or wait for a retry. */
  async idle(): Promise<void> {
    const { storage, events } = this.#parts
    const newest = async () => {
      await storage.sequenceOutbox()
      return events.last()
    }
    for (let last = -1; last !== (await newest()); ) {
      last = await events.last()
      // In this order: an event handler may add jobs.
      await Promise.all(this.#reacting.map((loop) => loop.idle()))
      await Promise.all(this.#working.map((loop) => loop.idle()))
    }
  }

  async stop(): Promise<void> {
    this.#isNew = false
    await Promise.all(this.#loops.map((loop) => loop.stop()))
  }
}
