import {
  type AuditEntry,
  many,
  maybeOne,
  run,
  type Sql,
  sql,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { MOST_ROWS } from '@mortise/storage'
import { type Static, Type } from '@sinclair/typebox'

/** `taken back`: a change of the application that its host could not serve. */
const Outcome = Type.Unsafe<'done' | 'taken back'>({ type: 'string', enum: ['done', 'taken back'] })
export type Outcome = Static<typeof Outcome>

/** A record of the audit trail. */
export interface AuditRecord {
  /** Grows with each record, with gaps; null for one that waits in the application folder. */
  readonly seq: number | null
  /** RFC 3339, UTC. */
  readonly at: string
  /** A caller's id, `module:` and a module's id, or `os:` and a user of the operating system. */
  readonly actor: string
  readonly action: string
  readonly object: string
  readonly outcome: Outcome
  /** Null for what was not done in a request. */
  readonly requestId: string | null
  readonly details: Readonly<Record<string, unknown>> | null
}

/** What an operator does: recorded outside of the database, which cannot always be had then. */
export const OperatorRecord = Type.Object({
  /** A TypeID. */
  id: Type.String(),
  at: Type.String(),
  actor: Type.String(),
  action: Type.String(),
  object: Type.String(),
  outcome: Outcome,
  details: Type.Record(Type.String(), Type.Unknown()),
})
export type OperatorRecord = Static<typeof OperatorRecord>

export interface AuditQuery {
  readonly limit: number
  /** Only those with a smaller `seq`. */
  readonly before?: number
}

/** Puts an entry of a module on record. */
export function* append(entry: AuditEntry, actor: string, requestId: string | null): Transaction<void> {
  const { action, object, details } = entry
  const json = details === undefined ? null : JSON.stringify(details)
  yield* run(sql`
    INSERT INTO mortise_audit (at, actor, action, object, outcome, request_id, details)
    VALUES (${Date.now()}, ${actor}, ${action}, ${object}, ${'done'}, ${requestId}, ${json})`)
}

/** Puts a record on record that is not there yet. */
export function* appendOnce(record: OperatorRecord): Transaction<void> {
  const known = yield* maybeOne(sql`SELECT seq FROM mortise_audit WHERE origin = ${record.id}`)
  if (known === undefined) yield* run(insertion(record))
}

/** The statement that puts an operator's record there. */
export function insertion({ id, at, actor, action, object, outcome, details }: OperatorRecord): Sql {
  return sql`
    INSERT INTO mortise_audit (at, actor, action, object, outcome, details, origin)
    VALUES (${Date.parse(at)}, ${actor}, ${action}, ${object}, ${outcome}, ${JSON.stringify(details)}, ${id})`
}

/** Newest first. */
export function* readTrail({
  limit,
  before = Number.MAX_SAFE_INTEGER,
}: AuditQuery): Transaction<AuditRecord[]> {
  const rows = yield* many<Omit<AuditRecord, 'at' | 'details'> & { at: number; details: string | null }>(sql`
    SELECT seq, at, actor, action, object, outcome, request_id AS "requestId", details
    FROM mortise_audit WHERE seq < ${before} ORDER BY seq DESC LIMIT ${Math.min(limit, MOST_ROWS)}`)
  return rows.map(({ at, details, ...row }) => ({
    ...row,
    at: timestamp(at),
    details: details === null ? null : JSON.parse(details),
  }))
}
