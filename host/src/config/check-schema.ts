import { Ajv } from 'ajv'
import { clauseOf, schemaErrors } from './schema-errors.ts'

/** What validators are made with, once `checkSchema` has looked at their schemas: each would compile the schema of schemas for itself. */
export const checkedSchemas = { validateSchema: false, meta: false } as const

let ajv: Ajv | undefined

/** @throws {Error} where `schema` is no JSON Schema (draft 7), saying what is wrong */
export function checkSchema(schema: object): void {
  ajv ??= new Ajv({ verbose: true })
  if (ajv.validateSchema(schema)) return
  const clauses = schemaErrors(ajv.errors).map((error) => clauseOf(error))
  throw new Error(`the schema is invalid: ${clauses.join('; ')}`)
}
