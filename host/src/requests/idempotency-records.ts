import {
  byEngine,
  currentTime,
  DAY,
  type Database,
  DatabaseError,
  many,
  maybeOne,
  one,
  run,
  send,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { isRefusal } from '@mortise/storage'
import type { ScopeRecordingUser } from '../callers/scope-recording-user.ts'
import { hostProblems } from '../http/problems.ts'

// Reservation, effect and stored response share one transaction, so a visible record belongs to a
// finished request. A request whose key is reserved but not committed waits for the end of that
// transaction: in the write queue on SQLite, at an advisory lock on PostgreSQL.
//
// A response that is also the data of an event is stored only in the event; `deleteOldest` keeps
// such events.

/** The response to a write, decided in its transaction and sent byte for byte after the commit. */
export interface StoredResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined without a body. */
  readonly text: string | undefined
  /** The id of an event of the same transaction whose data equal `text` byte for byte. */
  readonly event?: string | undefined
  /** The response was decided for an earlier request with the same Idempotency-Key. */
  readonly replayed: boolean
}

/** How long a response is kept, in milliseconds. */
export const RESPONSE_LIFETIME = DAY
/** Records deleted per transaction at most. */
const FORGOTTEN_AT_ONCE = 50

/** Headers that carry credentials. */
const NEVER_KEPT = new Set(['set-cookie', 'guest-token'])

/** A request with an Idempotency-Key from a caller with credentials. */
export interface Reservation {
  readonly caller: string
  /** Undefined for a guest: guests have no scopes. */
  readonly user: ScopeRecordingUser | undefined
  /** `POST /purchase`, without the base path. */
  readonly route: string
  readonly key: string
  /** Differs if the body, the path or If-Match differs. */
  readonly fingerprint: string
}

export interface KeptResponse {
  readonly route: string
  readonly status: number
  readonly location: string | null
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly expiresAt: number
}

/** These responses do not depend on when the request is sent; others may differ next time. */
export function isKept(status: number): boolean {
  return status < 500 && ![400, 401, 413, 415, 429].includes(status)
}

/**
 * Decides a request with a key: by what was decided earlier, or else by the steps. SQLite runs one
 * write transaction at a time, so it reads that first. On PostgreSQL such a read would conflict with
 * other requests, so the steps run first: if the key turns out to be taken, they are undone.
 * @throws {Decided} the earlier response, to undo the transaction
 * @throws {Problem} `idempotency-mismatch`, `idempotency-running`, `insufficient-scope` if the user
 * lost a scope that the response may depend on
 */
export function* decideOnce(
  reservation: Reservation,
  steps: () => Transaction<StoredResponse>,
): Transaction<StoredResponse> {
  if (!(yield* reserveIfFree(reservation))) return (yield* findEarlier(reservation)) as StoredResponse
  try {
    const decided = yield* steps()
    yield* isKept(decided.status) ? keep(reservation, decided) : assertFree(reservation)
    return decided
  } catch (error) {
    if (!(error instanceof Decided)) yield* assertFree(reservation)
    throw error
  }
}

/** What was decided earlier. */
export class Decided extends Error {
  readonly response: StoredResponse

  constructor(response: StoredResponse) {
    super()
    this.response = response
  }
}

/** @throws {Decided} */
function* assertFree(reservation: Reservation): Transaction<void> {
  const earlier = yield* findEarlier(
    reservation,
    byEngine({ sqlite: sql``, postgres: recordOf(reservation) }),
  )
  if (earlier) throw new Decided(earlier)
}

const recordOf = ({ caller, key, route }: Reservation) => sql`
  SELECT fingerprint, status, headers, event, scopes, coalesce(body,
    (SELECT data FROM mortise_event WHERE mortise_event.id = mortise_idempotency.event),
    (SELECT data FROM mortise_event_new WHERE mortise_event_new.id = mortise_idempotency.event)) AS body
  FROM mortise_idempotency
  WHERE caller = ${caller} AND idempotency_key = ${key} AND route = ${route}`

function* findEarlier(
  reservation: Reservation,
  query = recordOf(reservation),
): Transaction<StoredResponse | undefined> {
  const { user, route } = reservation
  const record = yield* maybeOne<{
    fingerprint: string
    status: number
    headers: string
    body: string | null
    event: string | null
    scopes: string | null
  }>(query)
  if (record === undefined) return undefined
  if (record.fingerprint !== reservation.fingerprint) {
    throw hostProblems.create(
      'idempotency-mismatch',
      `This Idempotency-Key was used for another ${route}: body, path or If-Match differ. Repeat the earlier request exactly, or use a new key.`,
    )
  }
  const { status, headers, body, event, scopes } = record
  if (scopes !== null) user?.assertAll(JSON.parse(scopes))
  if (body === null && event !== null)
    throw new Error(`the event ${event}, which has a stored response, was deleted`)
  return { status, headers: JSON.parse(headers), text: body ?? undefined, replayed: true }
}

/**
 * Whether the key is free; on PostgreSQL `keep` finds out. There it waits for another request with
 * the key, and `isRunning` sees that this one has it. The key stays reserved until its record is
 * deleted, whatever its age: a clock that is ahead would otherwise repeat the request.
 */
function* reserveIfFree({ caller, key, route }: Reservation): Transaction<boolean> {
  const reserving = byEngine({
    sqlite: sql`
      SELECT 1 AS reserved WHERE NOT EXISTS (
        SELECT 1 FROM mortise_idempotency
        WHERE caller = ${caller} AND idempotency_key = ${key} AND route = ${route})`,
    postgres: sql`
      SELECT 1 AS reserved
      FROM (SELECT pg_advisory_xact_lock(hashtextextended(${lockName(caller, key)}, 0))) AS held`,
  })
  try {
    const rows = yield { query: reserving, want: 'rows', expected: [{ reserved: 1 }] }
    return (rows as unknown[]).length > 0
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === 'busy')) throw error
    throw hostProblems.create(
      'idempotency-running',
      'A request with this Idempotency-Key is in progress. Send it again with the same key to get its response.',
      { cause: error, headers: { 'retry-after': '1' } },
    )
  }
}

/**
 * Stores the response. Its INSERT fails if the key has one already, so the COMMIT is sent with it.
 * @throws {DatabaseError} `unique`
 */
function* keep(
  reservation: Reservation,
  { status, headers, text, event }: StoredResponse,
): Transaction<void> {
  const { caller, user, key, route, fingerprint } = reservation
  const scopes = user?.found() ?? []
  const kept = Object.entries(headers).filter(([name]) => !NEVER_KEPT.has(name.toLowerCase()))
  yield* send(sql`
    INSERT INTO mortise_idempotency
      (caller, idempotency_key, route, fingerprint, status, headers, body, event, scopes, created_at)
    VALUES (${caller}, ${key}, ${route}, ${fingerprint}, ${status}, ${JSON.stringify(Object.fromEntries(kept))},
      ${event === undefined ? (text ?? null) : null}, ${event ?? null},
      ${scopes.length === 0 ? null : JSON.stringify(scopes)}, ${currentTime()})`)
}

/** If both used a key, the other caller's record stays. */
export function* moveRecords(from: string, to: string): Transaction<void> {
  yield* run(sql`
    UPDATE mortise_idempotency SET caller = ${to}
    WHERE caller = ${from} AND NOT EXISTS (
      SELECT 1 FROM mortise_idempotency AS own
      WHERE own.caller = ${to} AND own.idempotency_key = mortise_idempotency.idempotency_key
        AND own.route = mortise_idempotency.route)`)
  yield* run(sql`DELETE FROM mortise_idempotency WHERE caller = ${from}`)
}

/** The stored responses of a caller's key, on all routes. */
export function* findStored(caller: string, key: string): Transaction<KeptResponse[]> {
  const rows = yield* many<{ route: string; status: number; headers: string; createdAt: number }>(sql`
    SELECT route, status, headers, created_at AS "createdAt" FROM mortise_idempotency
    WHERE caller = ${caller} AND idempotency_key = ${key}
    ORDER BY created_at, route`)
  return rows.map(({ route, status, headers, createdAt }) => ({
    route,
    status,
    location: JSON.parse(headers).location ?? null,
    createdAt,
    expiresAt: createdAt + RESPONSE_LIFETIME,
  }))
}

/** Whether an unfinished transaction on any host has the key. SQLite waits in the write queue. */
export async function isRunning(database: Database, caller: string, key: string): Promise<boolean> {
  const running = byEngine({
    sqlite: sql`SELECT 0 AS running`,
    postgres: sql`
      SELECT NOT pg_try_advisory_xact_lock(hashtextextended(${lockName(caller, key)}, 0)) AS running`,
  })
  try {
    return (await database.transaction(() => one<{ running: number }>(running))).running === 1
  } catch (error) {
    // No transaction runs while writes are refused, and this is only a read.
    if (isRefusal(error)) return false
    throw error
  }
}

const lockName = (caller: string, key: string) => `mortise ${key} ${caller}`

/** @returns whether there may be more */
export function* forgetExpired(): Transaction<boolean> {
  const forgotten = yield* run(sql`
    DELETE FROM mortise_idempotency WHERE (caller, idempotency_key, route) IN (
      SELECT caller, idempotency_key, route FROM mortise_idempotency
      WHERE created_at <= ${currentTime() - RESPONSE_LIFETIME} ORDER BY created_at LIMIT ${FORGOTTEN_AT_ONCE})`)
  return forgotten === FORGOTTEN_AT_ONCE
}
