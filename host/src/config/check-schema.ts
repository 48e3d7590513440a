import { Ajv, type ErrorObject } from 'ajv'
import { builtValidator } from './built-validators.ts'
import { clauseOf, schemaErrors } from './schema-errors.ts'

/** Optimizing takes more than half of the time to compile, and makes no validator faster. */
const code = { optimize: false } as const

/** For schemas that `checkSchema` has checked: else each validator compiles the meta-schema. */
export const checkedSchemas = { validateSchema: false, meta: false, code } as const

export const metaSchema = 'http://json-schema.org/draft-07/schema'
export const metaOptions = { verbose: true, code } as const

let ajv: Ajv | undefined

/** @throws {Error} with the fault if `schema` is no JSON Schema (draft 7) */
export function checkSchema(schema: object): void {
  const errors = errorsOf(schema)
  if (errors === undefined) return
  const clauses = schemaErrors(errors).map((error) => clauseOf(error))
  throw new Error(`the schema is invalid: ${clauses.join('; ')}`)
}

/** Undefined if it is valid. */
function errorsOf(schema: object): readonly ErrorObject[] | null | undefined {
  // A schema that names another meta-schema is the compiler's to refuse.
  const built = '$schema' in schema ? undefined : builtValidator(metaOptions, metaSchema)
  if (built !== undefined) return built(schema) ? undefined : built.errors
  ajv ??= new Ajv(metaOptions)
  return ajv.validateSchema(schema) ? undefined : ajv.errors
}
