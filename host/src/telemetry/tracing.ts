import type { Database } from '@mortise/module-sdk'
import type { Engine } from '@mortise/storage'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Tells a collector what the process does. It belongs to the process, and outlives generations. */
export interface Tracing {
  /** Has every request to `app` traced. To be called before whatever may answer one. */
  trace(app: FastifyInstance): Promise<void>
  /** The `traceparent` of what a request to a traced instance does; undefined where its route has none. */
  traceparentOf(request: FastifyRequest): string | undefined
  /** The database, with a span for whatever it is asked during a traced request. */
  database(database: Database, engine: Engine): Database
  /** Sends what has not been sent: it takes two seconds at most. */
  close(): Promise<void>
}
