import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseLockedError, isLocked, shortened } from '../port/errors.ts'

/** How long the work is tried again, in milliseconds. Each attempt waits as its session says. */
const LIMIT_MS = 15_000
/** Between two attempts requests go first, in milliseconds. */
const PAUSE_MS = 1_000
/** How often it is looked who holds a lock, in milliseconds. */
const INTERVAL_MS = 500
/** How much of a query is named, in characters. */
const QUERY_LENGTH = 80

const HOLDERS = `
  WITH blocking AS MATERIALIZED (SELECT pg_blocking_pids($1) AS pids)
  SELECT 'session ' || pid AS name, concat_ws(', ', 'user ' || usename,
    'application ' || nullif(application_name, ''), 'from ' || host(client_addr),
    'since ' || to_char(xact_start, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) AS origin, query
  FROM pg_stat_activity, blocking WHERE pid = ANY (pids)
  UNION ALL
  SELECT 'prepared transaction ' || quote_literal(gid), concat_ws(', ', 'user ' || owner,
    'since ' || to_char(prepared, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), NULL
  FROM pg_prepared_xacts, blocking WHERE 0 = ANY (pids) AND database = current_database()`

type Connect = <Found>(look: (client: Client) => Promise<Found>) => Promise<Found>

/**
 * Runs work, which has no effect if it fails, again while another session holds a lock that it needs.
 * @param connect another connection, to look who that is
 * @throws {DatabaseLockedError} that names the session
 */
export async function despiteLocks<Result>(
  client: Client,
  connect: Connect,
  work: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now()
  try {
    return await work()
  } catch (error) {
    if (!isAttempt(error)) throw error
  }
  const watch = await watchHolders(client, connect)
  try {
    for (;;) {
      await pause(PAUSE_MS)
      try {
        return await work()
      } catch (error) {
        if (!isAttempt(error)) throw error
        if (performance.now() - start > LIMIT_MS) throw locked(watch.holders, error)
      }
    }
  } finally {
    await watch.end()
  }
}

/** Whether the work itself failed for a lock, and was not tried for long already. */
const isAttempt = (error: unknown) => isLocked(error) && !(error instanceof DatabaseLockedError)

/** Looks again and again for what a session waits for. */
async function watchHolders(client: Client, connect: Connect) {
  const backend: number = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
  let holders: readonly string[] = []
  const over = new AbortController()
  const watching = connect(async (observer) => {
    while (!over.signal.aborted) {
      const { rows } = await observer.query(HOLDERS, [backend])
      if (rows.length > 0) holders = rows.map(describe)
      await pause(INTERVAL_MS, undefined, { signal: over.signal })
    }
  }).catch(() => {})
  return {
    get holders() {
      return holders
    },
    async end() {
      over.abort()
      await watching
    },
  }
}

function describe({ name, origin, query }: Readonly<Record<string, string | null>>): string {
  const words = query ? [origin, `query: ${shortened(query, QUERY_LENGTH)}`] : [origin]
  return `${name} (${words.join(', ')})`
}

function locked(holders: readonly string[], cause: unknown): DatabaseLockedError {
  const who = holders.length === 0 ? 'another session' : holders.join(' and ')
  return new DatabaseLockedError(
    `${who} of PostgreSQL holds a lock that this needs: ${(cause as Error).message}`,
    { cause },
  )
}
