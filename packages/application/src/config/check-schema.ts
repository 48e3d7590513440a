import { Ajv, type ErrorObject } from 'ajv'
import { builtValidator } from './built-validators.ts'
import { clauseOf, schemaErrors } from './schema-errors.ts'

/** Optimizing takes more than half of the time to compile, and makes no validator faster. */
const code = { optimize: false } as const

/** For schemas that `checkSchema` has checked: else each validator compiles the meta-schema. */
export const checkedSchemas = {
  validateSchema: false,
  meta: false,
  // It would print words of the schema, which a stranger may have written.
  logger: false,
  code,
} as const

export const metaSchema = 'http://json-schema.org/draft-07/schema'
export const metaOptions = { verbose: true, code } as const

let ajv: Ajv | undefined

/** The most levels of a schema: checking and compiling it takes a part of the stack for each. */
const MOST_LEVELS = 100

/** @throws {Error} with the fault if `schema` is no JSON Schema (draft 7), or has one that we refuse */
export function checkSchema(schema: object): void {
  const refused = refusedPart(schema, MOST_LEVELS)
  if (refused !== undefined) throw new Error(refused)
  const errors = errorsOf(schema)
  if (errors === undefined) return
  const clauses = schemaErrors(errors).map((error) => clauseOf(error))
  throw new Error(`the schema is invalid: ${clauses.join('; ')}`)
}

/** Why it is refused; undefined if it is not. */
function refusedPart(schema: object, levels: number): string | undefined {
  if (levels === 0) return `the schema has more than ${MOST_LEVELS} levels`
  for (const [key, part] of Object.entries(schema)) {
    if (typeof part !== 'object' || part === null) continue
    // A validator would find the one that every object has where there is none.
    const name = key === 'properties' && Object.keys(part).find((name) => name in Object.prototype)
    if (name)
      return `the schema has a property "${name}", which every object of JavaScript has: use another name`
    const refused = refusedPart(part, levels - 1)
    if (refused !== undefined) return refused
  }
  return undefined
}

/** Undefined if it is valid. */
function errorsOf(schema: object): readonly ErrorObject[] | null | undefined {
  // A schema that names another meta-schema is the compiler's to refuse.
  const built = '$schema' in schema ? undefined : builtValidator(metaOptions, metaSchema)
  if (built !== undefined) return built(schema) ? undefined : built.errors
  ajv ??= new Ajv(metaOptions)
  return ajv.validateSchema(schema) ? undefined : ajv.errors
}
