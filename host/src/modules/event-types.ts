import type { EventSchemas } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'
import { hostEvents } from '../events/host-events.ts'
import { ModuleError } from './host-module.ts'

export interface EventType {
  readonly type: string
  /** The module that emits it. */
  readonly source: string
  /** The JSON Schema of its data. */
  readonly schema: unknown
}

/** The event types of one generation; each belongs to one module, or to the host. */
export class EventTypes {
  readonly #types = new Map<string, EventType>(
    Object.entries(hostEvents).map(([type, schema]) => [type, { type, source: 'host', schema }]),
  )

  /** @throws {ModuleError} for an undeclared type, or one that another module emits */
  add({ id, events = [] }: Manifest, types: EventSchemas): void {
    for (const [type, schema] of Object.entries(types)) {
      if (!events.includes(type)) {
        throw new ModuleError(id, `it emits "${type}", which its manifest does not declare`)
      }
      const other = this.#types.get(type)
      if (other) throw new ModuleError(id, `it emits "${type}", which ${other.source} also emits`)
      this.#types.set(type, { type, source: id, schema })
    }
  }

  has(type: string): boolean {
    return this.#types.has(type)
  }

  [Symbol.iterator](): Iterator<EventType> {
    return this.#types.values()
  }
}
