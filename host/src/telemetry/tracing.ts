import type { Database } from '@mortise/module-sdk'
import type { Engine } from '@mortise/storage'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Reports the process's work to a collector. Belongs to the process and outlives generations. */
export interface Tracing {
  /** Traces every request to `app`. Call it before anything that may send a response. */
  trace(app: FastifyInstance): Promise<void>
  /** For work within a request; undefined if its route is not traced. */
  traceparentOf(request: FastifyRequest): string | undefined
  /** The database, with a span for each statement during a traced request. */
  database(database: Database, engine: Engine): Database
  /** Sends the remaining spans, within two seconds at most. */
  close(): Promise<void>
}
