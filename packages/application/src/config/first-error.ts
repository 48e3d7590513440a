import type { ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { Validators } from './built-validators.ts'
import { checkedSchemas } from './check-schema.ts'
import { type SchemaError, schemaErrors } from './schema-errors.ts'

export const dataOptions = { ...checkedSchemas, strict: false, verbose: true, addUsedSchema: false } as const

const validators = new Validators(dataOptions, addFormats.default)

/** Compiles a JSON Schema to a function that checks whether a value is valid. */
export const compileSchema = (schema: object): ValidateFunction => validators.of(schema)

/** The first place of `value` that violates `schema`, a JSON Schema; undefined if valid. */
export function firstError(schema: object, value: unknown): SchemaError | undefined {
  const validate = compileSchema(schema)
  return validate(value) ? undefined : schemaErrors(validate.errors)[0]
}
