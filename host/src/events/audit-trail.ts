import type { OperatorRecord, Outcome } from '@mortise/application'
import {
  type AuditEntry,
  byEngine,
  currentTime,
  many,
  maybeOne,
  run,
  type Sql,
  send,
  sql,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { MOST_ROWS } from '@mortise/storage'
import { hostSteps } from './map-emissions.ts'

export interface AuditRecord {
  /** Grows with each record, with gaps; null for a record that waits in the application folder. */
  readonly seq: number | null
  /** RFC 3339, UTC. */
  readonly at: string
  /** A caller's id, `module:` and a module's id, or `os:` and an operating system user. */
  readonly actor: string
  readonly action: string
  readonly object: string
  readonly outcome: Outcome
  /** Null outside of requests. */
  readonly requestId: string | null
  readonly details: Readonly<Record<string, unknown>> | null
}

export interface AuditQuery {
  readonly limit: number
  /** Returns only records with a smaller `seq`. */
  readonly before?: number | undefined
  /** Returns only records of this object. */
  readonly object?: string | undefined
}

/** Appends an entry of a module. */
export const append = hostSteps.of((entry: AuditEntry, actor: string, requestId: string | null) => {
  const { action, object, details } = entry
  const json = details === undefined ? null : JSON.stringify(details)
  return send(sql`
    INSERT INTO mortise_audit (at, actor, action, object, outcome, request_id, details)
    VALUES (${currentTime()}, ${actor}, ${action}, ${object}, ${'done'}, ${requestId}, ${json})`)
})

/** Appends a record unless it exists already. */
export function* appendOnce(record: OperatorRecord): Transaction<void> {
  const known = yield* maybeOne(sql`SELECT seq FROM mortise_audit WHERE origin = ${record.id}`)
  if (known === undefined) yield* run(insertion(record))
}

/** The statement that inserts an operator's record. */
export function insertion({ id, at, actor, action, object, outcome, details }: OperatorRecord): Sql {
  return sql`
    INSERT INTO mortise_audit (at, actor, action, object, outcome, details, origin)
    VALUES (${Date.parse(at)}, ${actor}, ${action}, ${object}, ${outcome}, ${JSON.stringify(details)}, ${id})`
}

/** Rows are compared for PostgreSQL, which otherwise may search all records for those of an object. */
function rangeOf(before: number, object: string | undefined): Sql {
  if (object === undefined) return sql`seq < ${before}`
  return byEngine({
    sqlite: sql`object = ${object} AND seq < ${before}`,
    postgres: sql`(object, seq) > (${object}, 0) AND (object, seq) < (${object}, ${before})`,
  })
}

/** Newest first. */
export function* readTrail({
  limit,
  before = Number.MAX_SAFE_INTEGER,
  object,
}: AuditQuery): Transaction<AuditRecord[]> {
  const rows = yield* many<Omit<AuditRecord, 'at' | 'details'> & { at: number; details: string | null }>(sql`
    SELECT seq, at, actor, action, object, outcome, request_id AS "requestId", details
    FROM mortise_audit WHERE ${rangeOf(before, object)}
    ORDER BY ${object === undefined ? sql`seq DESC` : sql`object DESC, seq DESC`} LIMIT ${Math.min(limit, MOST_ROWS)}`)
  return rows.map(({ at, details, ...row }) => ({
    ...row,
    at: timestamp(at),
    details: details === null ? null : JSON.parse(details),
  }))
}
