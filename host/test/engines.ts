import * as storage from '../../packages/storage/test/engines.ts'
import { outbox } from '../src/events/event-log.ts'

export type Open = storage.Open

/** A database as a host opens it. */
const withEvents =
  (open: Open): Open =>
  (schema, options) =>
    open(schema, { outbox, ...options })

export const testOnEngines: typeof storage.testOnEngines = (name, work) =>
  storage.testOnEngines(name, (t, open, engine) => work(t, withEvents(open), engine))

export const testOnPostgres: typeof storage.testOnPostgres = (name, work) =>
  storage.testOnPostgres(name, (t, open, url) => work(t, withEvents(open), url))
