import type { Client } from 'pg'
import { readCounted } from '../archive/portable-file.ts'
import { isSameLedger } from '../migrations/ledger.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { MigrationSet } from '../port/storage.ts'
import { inTransaction, type Query, queryOn, readLedger, runSteps, SNAPSHOT } from './change-schema.ts'
import type { PostgresLedgerEntry } from './dialect.ts'
import { pairTables } from './pair-tables.ts'
import { assertSame, type Pair, type Reconciled, reconcile } from './reconcile.ts'
import { applyEntries, type SourceFile, withSource } from './restore-rows.ts'
import { advanceCounters, loosen, readTables } from './tables.ts'
import { withConnection } from './with-connection.ts'

// A SQLite database moves into a schema of PostgreSQL. During the move the schema has a table
// `mortise_move`, with which no host opens it: after a crash at any moment it holds no application,
// and the next attempt continues. Verified, it is one; the first host that opens it drops the
// table, after the configuration names it.

const MARK = `
CREATE TABLE mortise_move (
  source TEXT NOT NULL, -- which application
  verified INTEGER NOT NULL,
  finish TEXT NOT NULL -- the statements that bring back foreign keys and triggers
)`

export interface MoveOptions {
  /** The SQLite file. A host may serve from it. */
  readonly file: string
  readonly url: string
  /** The migrations of all available packages, of any version. */
  readonly sets: readonly MigrationSet[]
  /** Identifies the application: an attempt of another one is not continued. */
  readonly source: string
  /** Tables with rows that belong to one database. */
  readonly kept?: readonly string[]
}

/**
 * Prepares the schema, or continues a killed attempt, and passes it to `work`. One at a time.
 * @throws {MigrationError} if it belongs to another application, or a migration has no form for
 * PostgreSQL; nothing has changed
 * @throws {StorageUnreachableError}
 */
export async function withMove<Result>(
  { file, url, sets, source, kept = [] }: MoveOptions,
  work: (move: Move) => Promise<Result>,
): Promise<Result> {
  return await withSource(file, sets, (origin) =>
    withConnection(url, (writer, place, connections) =>
      connections.withClient(async (reader) => {
        await lock(queryOn(writer), place.schema)
        const pairs = await inTransaction(writer, '', (query) => prepare(query, place, origin, source, kept))
        return await work(moveOf(origin, reader, writer, pairs))
      }),
    ),
  )
}

export interface Move {
  /** Makes the target equal, once: see `reconcile`. */
  pass(): Promise<Reconciled[]>
  /**
   * The same while writes are paused: repeats each table until nothing was mended, so that every
   * row was read on both sides and found equal.
   * @throws {MigrationError}
   */
  verify(): Promise<Reconciled[]>
  /** @throws {DatabaseError} if a foreign key does not hold */
  finish(): Promise<void>
  /** Call it once the configuration names the target. */
  settle(): Promise<void>
}

function moveOf({ database }: SourceFile, reader: Client, writer: Client, pairs: readonly Pair[]): Move {
  const query = queryOn(writer)
  const walk = (pair: Pair) =>
    inTransaction(reader, SNAPSHOT, async () => {
      const done = await reconcile(database, { reader, query }, pair)
      // Until the server's own ANALYZE the planner would assume an empty table.
      if (done.mended > 0) await query(`ANALYZE ${quoted(pair.table.name)}`)
      return done
    })
  return {
    async pass() {
      const done: Reconciled[] = []
      for (const pair of pairs) done.push(await walk(pair))
      return done
    },
    async verify() {
      const done: Reconciled[] = []
      for (const pair of pairs) {
        const first = await walk(pair)
        const last = first.mended === 0 ? first : await walk(pair)
        assertSame(last)
        done.push(last)
      }
      return done
    },
    finish: () =>
      inTransaction(writer, '', async () => {
        const { rows } = await query('SELECT finish FROM mortise_move')
        if (rows[0].finish !== '') await query(rows[0].finish)
        await advanceCounters(query, await readTables(query), readCounted(database))
        await query('UPDATE mortise_move SET verified = 1')
      }),
    settle: async () => void (await query('DROP TABLE mortise_move')),
  }
}

/** Held until the connection ends. After a kill the lock lasts until the server process notices. */
async function lock(query: Query, schema: string): Promise<void> {
  await query(`SET lock_timeout = '60s'`)
  await query(`SELECT pg_advisory_lock(hashtextextended('mortise move ' || $1, 0))`, [schema])
}

async function prepare(
  query: Query,
  { schema, name }: { readonly schema: string; readonly name: string },
  { database, ledger }: SourceFile,
  source: string,
  kept: readonly string[],
): Promise<Pair[]> {
  if (!(await takenUp(query, name, ledger, source))) {
    await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await query(MARK)
    await query(`INSERT INTO mortise_move VALUES ($1, 1, '')`, [source])
    await runSteps(query, applyEntries(ledger))
  }
  const tables = await readTables(query)
  const pairs = pairTables(database, tables, (name) => !kept.includes(name))
  const { rows } = await query('SELECT verified FROM mortise_move')
  if (rows[0].verified === 1) {
    await query('UPDATE mortise_move SET verified = 0, finish = $1', [await loosen(query, tables)])
  }
  return pairs
}

/** Whether there is an attempt to continue. One from another schema is dropped. */
async function takenUp(
  query: Query,
  name: string,
  ledger: readonly PostgresLedgerEntry[],
  source: string,
): Promise<boolean> {
  const { rows } = await query(`
    SELECT current_schema() AS schema, to_regclass('mortise_move') IS NOT NULL AS marked,
      EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))) AS used`)
  const { schema, marked, used } = rows[0]
  if (!marked && !used) return false
  if (!marked)
    throw new MigrationError(`${name} is in use: it has tables. Choose another schema with ?schema=`)
  const { rows: marks } = await query('SELECT source FROM mortise_move')
  if (marks[0]?.source !== source) {
    throw new MigrationError(
      `${name} has the unfinished move of another application. Choose another schema with ?schema=, or drop that schema`,
    )
  }
  if (isSameLedger(await readLedger(query), ledger)) return true
  await query(`DROP SCHEMA ${schema} CASCADE`)
  return false
}
