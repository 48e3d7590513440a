import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv, type Options, type ValidateFunction } from 'ajv'

// Compiling the host's own schemas takes longer than loading the files of most commands, so the
// build does it (.dev/build-validators.js). Where there is no build, as in tests of the sources,
// and for all other schemas, callers compile.

const file = join(import.meta.dirname, 'validators.cjs')
/** Functions that make a validator, since a process rarely needs all. */
let built: Readonly<Record<string, (() => ValidateFunction) | undefined>> | undefined

/** Undefined unless the build has compiled exactly this schema with these options. */
export function builtValidator(options: Options, schema: object | string): ValidateFunction | undefined {
  built ??= existsSync(file) ? (createRequire(import.meta.url)(file) as NonNullable<typeof built>) : {}
  return built[validatorName(options, schema)]?.()
}

/** @param schema or the id of a meta-schema */
export function validatorName(
  { formats: _formats, code: _code, ...options }: Options,
  schema: object | string,
): string {
  return createHash('sha256')
    .update(JSON.stringify([options, schema]))
    .digest('hex')
}

/** The validator of each schema under the same options, built or compiled on first use. */
export class Validators {
  readonly #options: Options
  readonly #extend: (ajv: Ajv) => Ajv
  readonly #known = new WeakMap<object, ValidateFunction>()
  #ajv: Ajv | undefined

  constructor(options: Options, extend = (ajv: Ajv) => ajv) {
    this.#options = options
    this.#extend = extend
  }

  of(schema: object): ValidateFunction {
    let validate = this.#known.get(schema)
    if (validate === undefined) {
      validate = builtValidator(this.#options, schema) ?? this.#compile(schema)
      this.#known.set(schema, validate)
    }
    return validate
  }

  #compile(schema: object): ValidateFunction {
    this.#ajv ??= this.#extend(new Ajv(this.#options))
    const validate = this.#ajv.compile(schema)
    // The compiler keeps every schema, but modules come and go.
    this.#ajv.removeSchema(schema)
    return validate
  }
}
