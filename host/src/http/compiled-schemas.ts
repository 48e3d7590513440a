/** How many are kept: those of some dozen modules. */
const MOST = 5_000

/**
 * What was compiled from schemas. A generation has most schemas from the one before it, and every scope has some of them:
 * compiling all of them anew would hold the event loop.
 */
export class CompiledSchemas<Compiled> {
  readonly #byScope = new Map<string, Map<string, Compiled>>()
  #count = 0

  /** @param shared the schemas that the others may refer to, by `$id` @returns what is kept of them, to be asked by a schema */
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
