import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { builtValidator } from './built-validators.ts'
import { checkedSchemas } from './check-schema.ts'
import { type SchemaError, schemaErrors } from './schema-errors.ts'

export const dataOptions = { ...checkedSchemas, strict: false, verbose: true, addUsedSchema: false } as const

/** By schema, compiled on first use. */
const validators = new WeakMap<object, ValidateFunction>()
let ajv: Ajv | undefined

/** Compiles a JSON Schema to a function that tells whether a value is valid. */
export function compileSchema(schema: object): ValidateFunction {
  let validate = validators.get(schema)
  if (validate === undefined) {
    validate = builtValidator(dataOptions, schema) ?? compile(schema)
    validators.set(schema, validate)
  }
  return validate
}

function compile(schema: object): ValidateFunction {
  ajv ??= addFormats.default(new Ajv(dataOptions))
  const validate = ajv.compile(schema)
  // The compiler keeps every schema, but modules come and go.
  ajv.removeSchema(schema)
  return validate
}

/** The first place of `value` that violates `schema`, a JSON Schema; undefined if valid. */
export function firstError(schema: object, value: unknown): SchemaError | undefined {
  const validate = compileSchema(schema)
  return validate(value) ? undefined : schemaErrors(validate.errors)[0]
}
