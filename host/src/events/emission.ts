import { byEngine, type Emission, type Sql, type Step, sql } from '@mortise/module-sdk'
import { checkSchema } from '../config/check-schema.ts'
import { firstError } from '../config/first-error.ts'
import { clauseOf } from '../config/schema-errors.ts'

/** The size limit for the data of an event, in bytes of JSON. */
export const MAX_DATA = 256 * 1024

export const isEmission = (step: Step): step is Emission => (step as Partial<Emission>)?.event !== undefined

/**
 * SQLite serializes write transactions, so an event gets its position at once: one more than the
 * last row.
 * @throws {TypeError} if the data do not match the module's declaration
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

/** The schemas of emitted events. */
const checked = new WeakSet<object>()

function toJson({ type, data, schema }: Emission['event']): string {
  if (!checked.has(schema)) checkSchema(schema)
  checked.add(schema)
  const wrong = firstError(schema, data)
  if (wrong) {
    throw new TypeError(`the data of the event ${type} are not what its schema says: ${clauseOf(wrong)}`)
  }
  const json = JSON.stringify(data)
  if (Buffer.byteLength(json) <= MAX_DATA) return json
  throw new TypeError(
    `the data of the event ${type} are over ${MAX_DATA} bytes of JSON: emit an id to look it up by`,
  )
}
