import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { type Client, DatabaseError as ServerError } from 'pg'
import { DatabaseLockedError } from '../port/errors.ts'

/** How long the work is tried again, in milliseconds. Each attempt waits as its session says. */
const LIMIT_MS = 15_000
/** Between two attempts requests go first, in milliseconds. */
const PAUSE_MS = 1_000
/** How often it is looked who holds a lock, in milliseconds. */
const INTERVAL_MS = 500
const LOCK_NOT_AVAILABLE = '55P03'

const HOLDERS = `
  SELECT 'session ' || pid || ' (' || concat_ws(', ', 'user ' || usename,
    'application ' || nullif(application_name, ''), 'from ' || host(client_addr),
    'since ' || to_char(xact_start, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) || ')' AS holder
  FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1))`

/**
 * Runs a change of the schema, which has no effect if it fails, again while another session holds a
 * lock that it needs.
 * @param connect another connection, to look who that is
 * @throws {DatabaseLockedError} that names the session
 */
export async function despiteLocks<Result>(
  client: Client,
  connect: <Found>(look: (client: Client) => Promise<Found>) => Promise<Found>,
  work: () => Promise<Result>,
): Promise<Result> {
  const backend: number = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
  let holders: string[] = []
  const over = new AbortController()
  const watching = (async () => {
    await pause(INTERVAL_MS, undefined, { signal: over.signal })
    await connect(async (observer) => {
      for (;;) {
        const { rows } = await observer.query(HOLDERS, [backend])
        if (rows.length > 0) holders = rows.map(({ holder }) => holder)
        await pause(INTERVAL_MS, undefined, { signal: over.signal })
      }
    })
  })().catch(() => {})
  try {
    for (const start = performance.now(); ; await pause(PAUSE_MS)) {
      try {
        return await work()
      } catch (error) {
        if (!isLocked(error)) throw error
        if (performance.now() - start > LIMIT_MS) throw locked(holders, error)
      }
    }
  } finally {
    over.abort()
    await watching
  }
}

const isLocked = (error: unknown) =>
  error instanceof DatabaseError &&
  error.cause instanceof ServerError &&
  error.cause.code === LOCK_NOT_AVAILABLE

function locked(holders: readonly string[], cause: unknown): DatabaseLockedError {
  const who = holders.length === 0 ? 'another session' : holders.join(' and ')
  return new DatabaseLockedError(
    `${who} of PostgreSQL holds a lock that the change needs: ${(cause as Error).message}`,
    { cause },
  )
}
