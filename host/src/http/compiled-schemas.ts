import { LRUCache } from 'lru-cache'

/** Schemas kept: enough for some dozen modules. */
const MOST = 5_000

/**
 * Caches compiled schemas. A generation shares most schemas with the previous one, and scopes share
 * some, so compiling all of them again would block the event loop.
 */
export class CompiledSchemas<Compiled extends NonNullable<unknown>> {
  readonly #known = new LRUCache<string, Compiled>({ maxSize: MOST, sizeCalculation: () => 1 })

  /** @param shared the schemas that others may refer to, by `$id` */
  of(shared: object | undefined): (schema: object, compile: () => Compiled) => Compiled {
    const scope = JSON.stringify(shared ?? {})
    return (schema, compile) => {
      const key = `${scope} ${JSON.stringify(schema)}`
      const compiled = this.#known.get(key) ?? compile()
      this.#known.set(key, compiled)
      return compiled
    }
  }
}
