import { byEngine, type Emission, type Sql, type Step, sql } from '@mortise/module-sdk'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { checkedSchemas, checkSchema } from '../config/check-schema.ts'

/** The most that the data of an event may have, in bytes of JSON. */
export const MAX_DATA = 256 * 1024

export const isEmission = (step: Step): step is Emission => (step as Partial<Emission>)?.event !== undefined

/**
 * SQLite writes one transaction after the other, so that an event has its position at once: one more than the last row.
 * @throws {TypeError} where its data are not what the module has declared
 */
export function insertion(event: Emission['event']): Sql {
  const { id, type, source, subject, owner, traceparent = null } = event
  const data = toJson(event)
  const now = Date.now()
  return byEngine({
    sqlite: sql`
      INSERT INTO mortise_event (id, type, source, subject, owner, at, data, traceparent)
      VALUES (${id}, ${type}, ${source}, ${subject}, ${owner}, ${now}, ${data}, ${traceparent})`,
    postgres: sql`
      INSERT INTO mortise_event_new (id, type, source, subject, owner, at, data, traceparent)
      VALUES (${id}, ${type}, ${source}, ${subject}, ${owner}, ${now}, ${data}, ${traceparent})`,
  })
}

/** Of each schema, compiled when the first such event is emitted. */
const validators = new WeakMap<object, ValidateFunction>()
let ajv: Ajv | undefined

function toJson({ type, data, schema }: Emission['event']): string {
  let validate = validators.get(schema)
  if (validate === undefined) {
    checkSchema(schema)
    ajv ??= addFormats.default(new Ajv({ ...checkedSchemas, strict: false, addUsedSchema: false }))
    validate = ajv.compile(schema)
    // The compiler keeps every schema that it has seen, and modules come and go.
    ajv.removeSchema(schema)
    validators.set(schema, validate)
  }
  if (!validate(data)) {
    const [error] = validate.errors ?? []
    throw new TypeError(
      `the data of the event ${type} are not what its schema says: ${error?.instancePath || 'they'} ${error?.message}`,
    )
  }
  const json = JSON.stringify(data)
  if (Buffer.byteLength(json) <= MAX_DATA) return json
  throw new TypeError(
    `the data of the event ${type} are over ${MAX_DATA} bytes of JSON: emit an id to look it up by`,
  )
}
