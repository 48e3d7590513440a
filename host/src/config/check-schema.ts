import { Ajv } from 'ajv'

/** What validators are made with, once `checkSchema` has looked at their schemas: each would compile the schema of schemas for itself. */
export const checkedSchemas = { validateSchema: false, meta: false } as const

let ajv: Ajv | undefined

/** @throws {Error} where `schema` is no JSON Schema (draft 7), saying what is wrong */
export function checkSchema(schema: object): void {
  ajv ??= new Ajv()
  ajv.validateSchema(schema, true)
}
