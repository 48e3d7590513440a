/** Schemas kept: enough for some dozen modules. */
const MOST = 5_000

/**
 * Caches compiled schemas. A generation shares most schemas with the previous one, and scopes share
 * some, so compiling all of them again would block the event loop.
 */
export class CompiledSchemas<Compiled> {
  readonly #byScope = new Map<string, Map<string, Compiled>>()
  #count = 0

  /**
   * @param shared the schemas that others may refer to, by `$id`
   * @returns a function that compiles a schema, or returns its cached result
   */
  of(shared: object | undefined): (schema: object, compile: () => Compiled) => Compiled {
    const scope = JSON.stringify(shared ?? {})
    return (schema, compile) => {
      const text = JSON.stringify(schema)
      const known = this.#byScope.get(scope)?.get(text)
      if (known !== undefined) return known
      const compiled = compile()
      this.#keep(scope, text, compiled)
      return compiled
    }
  }

  #keep(scope: string, text: string, compiled: Compiled): void {
    if (this.#count >= MOST) {
      this.#byScope.clear()
      this.#count = 0
    }
    const inScope = this.#byScope.get(scope) ?? new Map<string, Compiled>()
    this.#byScope.set(scope, inScope.set(text, compiled))
    this.#count += 1
  }
}
