import type { SnapshotOptions } from '@mortise/module-sdk'
import { Sql, sql } from '@mortise/module-sdk/sql'
import {
  DatabaseError,
  firstOf,
  type Statement,
  type Step,
  type Transaction,
} from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import type { SchemaSteps } from '../migrations/dialect.ts'
import { migrate, pendingMigrations } from '../migrations/migrate.ts'
import { purgeModule } from '../migrations/purge.ts'
import { undoMigrations } from '../migrations/undo.ts'
import { engines } from '../port/engines.ts'
import { EngineError, isLocked } from '../port/errors.ts'
import type { Guard } from '../port/guard.ts'
import { assertFewRows } from '../port/read-limit.ts'
import { RecentRefusals } from '../port/recent-refusals.ts'
import { type Outbox, StepReader } from '../port/steps.ts'
import type {
  AppliedMigration,
  DatabaseSchema,
  MigrationSet,
  ModuleData,
  Refusing,
  Storage,
  StorageObserver,
} from '../port/storage.ts'
import { within } from '../port/within.ts'
import { changeSchema, type Query, queryOn, readLedger, runSteps, SNAPSHOT } from './change-schema.ts'
import { copyToFile } from './copy-to-file.ts'
import { RetriableError } from './database-error.ts'
import { dialect, type PostgresLedgerEntry, readPortableSets, sqliteSchema } from './dialect.ts'
import { drive } from './drive.ts'
import { despiteLocks } from './lock-holders.ts'
import { LongReads } from './long-reads.ts'
import type { Connections } from './postgres-connections.ts'
import { postgresGuard } from './postgres-guard.ts'
import { ReadWriteLock } from './read-write-lock.ts'
import { restoreModule, withSource } from './restore-rows.ts'
import { retry } from './retry.ts'
import { type ServerClock, serverTime } from './server-clock.ts'
import { NeedsWaiting, type Session } from './session.ts'
import { SharedSnapshots } from './shared-snapshots.ts'

const WRITE = 'ISOLATION LEVEL SERIALIZABLE READ WRITE'
/** For transactions that lock what they need themselves. */
const UNISOLATED = 'ISOLATION LEVEL READ COMMITTED READ WRITE'

/** How long an outage lasts after a failure, in milliseconds. */
const OUTAGE_LINGER_MS = 2_000

/** Tries of a transaction beside others; after that many conflicts it runs alone on this host. */
const TOGETHER = 3

export interface PostgresOptions {
  /** For tests: see `StorageOptions.rehearse`. */
  readonly rehearse: boolean
  readonly outbox: Outbox | undefined
  readonly observer: StorageObserver | undefined
  readonly onClosed: () => void
}

/**
 * Hosts share the database, so no failure is fatal: calls fail as `unavailable` meanwhile. The
 * server reads beside the event loop, and a read that is declared as long waits for its turn.
 */
export class PostgresStorage implements Storage {
  readonly engine = 'postgres'
  readonly isShared = engines.postgres.isShared
  readonly #connections: Connections
  readonly #snapshots: SharedSnapshots
  readonly #longReads = new LongReads()
  readonly #clock: ServerClock
  readonly #onClosed: () => void
  readonly #rehearse: boolean
  readonly #outbox: Outbox | undefined
  readonly #observer: StorageObserver | undefined
  readonly #lock = new ReadWriteLock()
  readonly #working = new Set<Promise<unknown>>()
  readonly #listeners = new Set<() => void>()
  readonly #refusals = new RecentRefusals()
  readonly #outages = new RecentRefusals()
  readonly outage: Refusing
  #closing: Promise<void> | undefined

  constructor(connections: Connections, clock: ServerClock, options: PostgresOptions) {
    this.#connections = connections
    this.#snapshots = new SharedSnapshots(connections)
    this.#clock = clock
    this.#onClosed = options.onClosed
    const outages = this.#outages
    this.outage = {
      get refusal() {
        return connections.trouble ?? outages.reason
      },
      get refused() {
        return outages.count
      },
    }
    this.#rehearse = options.rehearse
    this.#outbox = options.outbox
    this.#observer = options.observer
  }

  get newConnections(): Refusing {
    return this.#connections.newConnections
  }

  get trouble(): string | undefined {
    return this.#connections.trouble
  }

  get refusal(): string | undefined {
    return this.#connections.readOnly ?? this.#refusals.reason
  }

  get wal() {
    return undefined
  }

  get refused(): number {
    return this.#refusals.count
  }

  get pool() {
    return this.#connections.pool
  }

  async many<Row>(query: Sql): Promise<Row[]> {
    return this.#work(async () => {
      const { rows } = await this.#connections.read(query)
      assertFewRows(rows.length, query.strings.join('?'))
      return rows
    })
  }

  async maybeOne<Row>(query: Sql): Promise<Row | undefined> {
    return (await this.many<Row>(query))[0]
  }

  async one<Row>(query: Sql): Promise<Row> {
    return firstOf(await this.many<Row>(query))
  }

  snapshot<Result>(
    steps: () => Transaction<Result>,
    { long, within: limit }: SnapshotOptions = {},
  ): Promise<Result> {
    const limited = within(steps, limit)
    const alone = () => this.#attempt(SNAPSHOT, limited)
    return this.#work(() => (long ? this.#longReads.run(alone) : this.#snapshots.run(limited, alone)))
  }

  transaction<Result>(steps: () => Transaction<Result>): Promise<Result> {
    return this.#run(WRITE, steps)
  }

  async migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    const read = await readPortableSets(sets)
    if (pendingMigrations(read, await this.#ledger()).length === 0) return []
    return this.#change(() => migrate(dialect, read))
  }

  async pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    return pendingMigrations(await readPortableSets(sets), await this.#ledger())
  }

  async applied() {
    const ledger = await this.#ledger()
    return ledger.map(({ module, name, down }) => ({ module, name, reversible: down !== null }))
  }

  undo(migrations: readonly AppliedMigration[]): Promise<void> {
    return this.#change(() => undoMigrations(dialect, migrations))
  }

  async schema(): Promise<DatabaseSchema> {
    return sqliteSchema(await this.#ledger())
  }

  async guard(prefix: string | undefined): Promise<Guard> {
    return postgresGuard(this.#connections, prefix)
  }

  copyTo(file: string): Promise<void> {
    return this.#work(() => this.#withClient((client) => copyToFile(client, file)))
  }

  purge(module: string, record?: Sql): Promise<ModuleData> {
    return this.#change(() => purgeModule(dialect, module, record))
  }

  restoreModule(file: string, sets: readonly MigrationSet[] = [], record?: Sql): Promise<ModuleData> {
    return withSource(file, sets, (source) =>
      this.#change((query, client) => restoreModule(client, query, file, source, record)),
    )
  }

  async sequenceOutbox(): Promise<void> {
    const outbox = this.#outbox
    if (outbox === undefined) return
    if (!(await this.#look(outbox))) return
    while (await this.#run(UNISOLATED, () => outbox.place(this.isShared))) {}
  }

  /** Also looks at the server's clock, without a statement of its own. Returns whether rows wait. */
  async #look({ unplaced }: Outbox): Promise<boolean> {
    const { time, waits } = await this.one<{ time: number; waits: boolean }>(
      sql`SELECT ${serverTime} AS time, EXISTS (${unplaced}) AS waits`,
    )
    this.#clock.sample(time)
    return waits
  }

  onOutbox(listener: () => void): () => Promise<void> {
    this.#listeners.add(listener)
    const stop = this.#outbox && this.#connections.listen(this.#outbox.channel, listener)
    return async () => {
      this.#listeners.delete(listener)
      await stop?.()
    }
  }

  async hold(): Promise<void> {
    throw new EngineError('only a SQLite database can move to another database')
  }

  release(): void {}

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#working)
    await this.#connections.close()
    this.#onClosed()
  }

  #run<Result>(mode: string, steps: () => Transaction<Result>): Promise<Result> {
    const attempt = async () => {
      this.#assertWritable()
      return this.#attempt(mode, steps)
    }
    if (mode !== WRITE) return this.#work(attempt)
    return this.#work((number) =>
      number > TOGETHER ? this.#lock.exclusive(attempt) : this.#lock.shared(attempt),
    )
  }

  /** Although a transaction could say READ WRITE. @throws {DatabaseError} `full` */
  #assertWritable(): void {
    const { readOnly } = this.#connections
    if (readOnly !== undefined) throw new DatabaseError('full', readOnly)
  }

  async #attempt<Result>(mode: string, steps: () => Transaction<Result>): Promise<Result> {
    let waited: NeedsWaiting | undefined
    for (;;) {
      try {
        return await this.#connections.withSession((session) => this.#once(session, mode, steps, waited))
      } catch (error) {
        if (!(error instanceof NeedsWaiting)) throw error
        waited = error
      }
    }
  }

  async #once<Result>(
    session: Session,
    mode: string,
    steps: () => Transaction<Result>,
    waited: NeedsWaiting | undefined,
  ): Promise<Result> {
    const reader = new StepReader(this.#outbox)
    const read = (step: Step) => reader.read(step)
    if (this.#rehearse && mode === WRITE) await rehearse(session, steps, read)
    const result = await drive(session, mode, steps, read, waited)
    await (mode === SNAPSHOT ? session.finish() : session.commit())
    if (reader.wrote) for (const listener of this.#listeners) listener()
    return result
  }

  #ledger(): Promise<PostgresLedgerEntry[]> {
    return this.#work(() =>
      readLedger((text) => this.#connections.read(new Sql([text], []))).catch((error) => {
        if (!isLocked(error)) throw error
        return this.#withClient((client) => readLedger(queryOn(client)))
      }),
    )
  }

  /** Runs steps in one transaction, alone among all hosts. */
  #change<Result>(steps: (query: Query, client: Client) => SchemaSteps<Result>): Promise<Result> {
    return this.#work(() =>
      this.#withClient((client) => changeSchema(client, (query) => runSteps(query, steps(query, client)))),
    )
  }

  /** @throws {DatabaseLockedError} */
  #withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    return this.#connections.withClient((client) =>
      despiteLocks(
        client,
        (look) => this.#connections.withClient(look),
        () => work(client),
      ),
    )
  }

  /** Refuses work after `close`, which waits for work in progress. */
  #work<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
    if (this.#closing !== undefined) {
      return Promise.reject(new DatabaseError('other', 'the storage is closed'))
    }
    const attempted = (attempt: number) => {
      if (attempt > 1) this.#observer?.retried()
      return work(attempt)
    }
    const working = retry(attempted).then(
      (result) => {
        this.#working.delete(working)
        return result
      },
      (error) => {
        this.#working.delete(working)
        if (error instanceof DatabaseError) this.#count(error)
        throw error
      },
    )
    this.#working.add(working)
    return working
  }

  #count({ kind, message }: DatabaseError): void {
    if (kind === 'full') this.#refusals.add(message)
    // So that even a very short outage is logged.
    if (kind === 'unavailable') this.#outages.add(message, OUTAGE_LINGER_MS)
  }
}

/** Runs a transaction and always rolls it back. */
async function rehearse(
  session: Session,
  steps: () => Transaction<unknown>,
  read: (step: Step) => Statement,
): Promise<void> {
  try {
    await drive(session, WRITE, steps, read, new NeedsWaiting())
  } catch (error) {
    if (error instanceof RetriableError) throw error
  }
  await session.rollback()
}
