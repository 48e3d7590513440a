import { Ajv } from 'ajv'
import { clauseOf, schemaErrors } from './schema-errors.ts'

/** Optimizing takes more than half of the time to compile, and makes no validator faster. */
const code = { optimize: false } as const

/** For schemas that `checkSchema` has checked: else each validator compiles the meta-schema. */
export const checkedSchemas = { validateSchema: false, meta: false, code } as const

let ajv: Ajv | undefined

/** @throws {Error} with the fault if `schema` is no JSON Schema (draft 7) */
export function checkSchema(schema: object): void {
  ajv ??= new Ajv({ verbose: true, code })
  if (ajv.validateSchema(schema)) return
  const clauses = schemaErrors(ajv.errors).map((error) => clauseOf(error))
  throw new Error(`the schema is invalid: ${clauses.join('; ')}`)
}
