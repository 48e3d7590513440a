import type { EventLog, React } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'
import { kindOf } from '@mortise/storage'
import { EventHandlerLoop, type EventHandlerLoopOptions } from '../events/event-handler-loop.ts'
import { ModuleError } from './host-module.ts'

interface Parts extends Pick<EventHandlerLoopOptions, 'storage' | 'log'> {
  readonly events: EventLog
}

export class EventHandlers {
  readonly #parts: Parts
  readonly #handlers = new Map<string, Map<string, React>>()
  #begun: readonly EventHandlerLoop[] = []
  #stopped = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws {ModuleError} for an undeclared type, a second handler, or an async one */
  add({ id, listensTo = [] }: Manifest, type: string, react: React): void {
    if (!listensTo.includes(type)) {
      throw new ModuleError(id, `it handles "${type}", which its manifest does not name in "listensTo"`)
    }
    const handlers = this.#handlers.get(id) ?? new Map()
    if (kindOf(react)?.startsWith('Async')) {
      throw new ModuleError(id, `it handles "${type}" with an async function: write function* (event) { … }`)
    }
    if (handlers.has(type)) throw new ModuleError(id, `it has two handlers for "${type}"`)
    this.#handlers.set(id, handlers.set(type, react))
  }

  /** The declared types without a handler. A module with `*` may also just read events. */
  missing({ id, listensTo = [] }: Manifest): string[] {
    return listensTo.filter((type) => type !== '*' && !this.#handlers.get(id)?.has(type))
  }

  async begin(): Promise<void> {
    if (this.#stopped || this.#begun.length > 0) return
    const { log, ...parts } = this.#parts
    this.#begun = Array.from(
      this.#handlers,
      ([module, handlers]) =>
        new EventHandlerLoop({ ...parts, module, handlers, log: log.child({ module }) }),
    )
    await Promise.all(this.#begun.map((loop) => loop.begin()))
  }

  /** See `EventHandlerLoop.idle`; includes events that the handlers emit. */
  async idle(): Promise<void> {
    const { storage, events } = this.#parts
    const newest = async () => {
      await storage.sequenceOutbox()
      return events.last()
    }
    for (let last = -1; last !== (await newest()); ) {
      last = await events.last()
      await Promise.all(this.#begun.map((loop) => loop.idle()))
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#begun.map((loop) => loop.stop()))
  }
}
