import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Sql, sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { Client, type ClientConfig, DatabaseError as ServerError } from 'pg'
import { StorageUnfitError } from '../port/errors.ts'
import { RecentRefusals } from '../port/recent-refusals.ts'
import type { Refusing } from '../port/storage.ts'
import { type Reply, sendBatch } from './batch.ts'
import { READ_ONLY } from './change-schema.ts'
import { connect, cut, hangUp, hasChangedSession, watchSession } from './client.ts'
import { Room } from './connection-budget.ts'
import { isRefused, isTooManyConnections, isUseless } from './database-error.ts'
import { listen } from './listener.ts'
import { Pool } from './pool.ts'
import { type PostgresAddress, type PostgresServer, parsePostgresUrl } from './postgres-url.ts'
import { Reachability, troubleOf } from './reachability.ts'
import { Readers } from './readers.ts'
import { watchResponses } from './response-timeout.ts'
import { Session } from './session.ts'
import { type SessionSettings, sharedSession } from './session-settings.ts'
import { StatementTexts } from './statement-texts.ts'
import { valueTypes } from './value-types.ts'

/** One connection listens to the outbox, one checks the server, one migrates or copies. */
const OTHERS = 3
/** How long it may take to connect, unless the URL says it. */
const CONNECT_TIMEOUT_MS = 5_000
/** The same for a connection that only checks the server. */
const LOOK_TIMEOUT_MS = 2_000
/** How long to wait for the first connection while the server has no room. */
const FIRST_TIMEOUT_MS = 2_000
/** Pause between tries while the server has no room. */
const ROOM_INTERVAL_MS = 250
/** Longer than the server's own limits. */
const RESPONSE_TIMEOUT_MS = 10_000
/** After this time without traffic TCP keep-alive checks the connection. */
const KEEP_ALIVE_MS = 5_000

/** While the server has no room for more connections, it counts as refusing them for this long. */
const REFUSED_MS = 5_000
/** How long an open connection may take to show that it works, in milliseconds. */
const SIGN_MS = 1_000
/** How often connections are compared to find a pooler that shares sessions. */
const COMPARISONS = 3

/** For requests. Outside of BEGIN … READ WRITE nothing is written. */
const REQUESTS: SessionSettings = {
  statement_timeout: '5s',
  lock_timeout: '3s',
  idle_in_transaction_session_timeout: '10s',
  default_transaction_read_only: 'on',
}

/** For other work: only locks have a limit. */
const COMMANDS: SessionSettings = { lock_timeout: '3s' }

/**
 * A scan of a whole table, which the server prefers for a small one, locks it for a serializable
 * transaction: all that write in it would conflict.
 */
const BY_INDEX = { enable_seqscan: 'off' }

const LONGEST_NAME = 63

/** A command that replaces the data looks for connections with this beginning of their name. */
export const hostConnectionName = ({ schema }: Pick<PostgresAddress, 'schema'>) => `mortise ${schema}`

/** No connection could be made, but others are open. */
class NoNewConnection extends Error {}

export interface ConnectionsOptions {
  /**
   * Reads the URL again, after the server has refused the user; undefined if there is none, or it is
   * of another database.
   */
  readonly renew?: (() => Promise<string | undefined>) | undefined
}

/** How often the default for new sessions is looked at, in milliseconds. */
const DEFAULT_INTERVAL_MS = 2_000

/**
 * Whether a new session would be read-only: settings of role and database are known to it only, and
 * those of the server to older ones, too.
 */
const READ_ONLY_DEFAULT = sql`
  SELECT coalesce((
    SELECT split_part(setting, '=', 2) FROM pg_db_role_setting, unnest(setconfig) AS setting
    WHERE starts_with(setting, 'default_transaction_read_only=')
      AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
    ORDER BY setrole = 0, setdatabase = 0 LIMIT 1
  ), (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only')) IN ('on', 'true', 'yes', '1') AS "isReadOnly"`

/** The connections of one host to its database. */
export class Connections {
  readonly statements = new StatementTexts()
  readonly #place: PostgresAddress
  readonly #renew: ConnectionsOptions['renew']
  readonly #reachability: Reachability
  /** Connections that the server had no room for. */
  readonly #withoutRoom = new RecentRefusals()
  #refused = 0
  readonly #room: Room
  /** For single reads. */
  readonly #readers: Readers
  /** For transactions. */
  readonly #pool: Pool
  readonly #endWatch: () => void
  /** All lasting connections. */
  readonly #lasting = new Set<Client>()
  /** Behind a pooler: the process of the server that each open connection has. */
  readonly #backends = new Map<Client, number>()
  /** Bytes read from closed connections: a refusal is a response too. */
  #readOfEnded = 0
  /** The time since which there is no lasting connection because the server has no room. */
  #noneSince: number | undefined
  #servers: readonly PostgresServer[]
  /** The server that was writable at the last check. */
  #server: PostgresServer

  /** Whether new sessions are read-only unless they say otherwise. */
  #isReadOnly = false
  readonly #defaults: NodeJS.Timeout
  /** Those that the server refuses while the open ones serve. */
  readonly newConnections: Refusing

  constructor(place: PostgresAddress, { renew }: ConnectionsOptions = {}) {
    this.#place = place
    this.#renew = renew
    this.#servers = place.servers
    this.#server = place.servers[0] as PostgresServer
    this.#room = new Room(place.connectionLimit - OTHERS)
    this.#reachability = new Reachability({
      connect: () => this.#look(),
      serves: (error) => this.#serves(error),
      onSuccess: () => this.#pool.grow(),
    })
    this.#readers = new Readers({
      limit: () => (this.#isRefused ? Math.max(1, this.#readers.open) : this.#room.readers),
      connect: () =>
        this.#connectLasting().catch(async (error) => {
          throw (await this.#failed(error)) ?? new NoNewConnection()
        }),
    })
    this.#pool = new Pool({
      limit: () => (this.#isRefused ? Math.max(1, this.#pool.open) : this.#room.transactions),
      keepsIdle: () => this.#isRefused,
      connect: () => this.#connectLasting(BY_INDEX),
      failed: async (error) => {
        const failure = await this.#failed(error)
        // Reads can use any connection.
        if (failure === undefined && this.#pool.open === 0 && isTooManyConnections(error))
          this.#readers.giveUpOne()
        return failure
      },
    })
    const own = this
    this.newConnections = {
      get refusal() {
        return own.#reachability.refusal ?? own.#withoutRoom.reason
      },
      get refused() {
        return own.#refused
      },
    }
    this.#defaults = setInterval(() => void this.#lookAtDefault(), DEFAULT_INTERVAL_MS).unref()
    this.#endWatch = watchResponses({
      isAsking: () => this.#readers.pending + this.#pool.waiting + this.#pool.open > this.#pool.idle,
      heard: () => [...this.#lasting].reduce((sum, client) => sum + bytesReadOf(client), this.#readOfEnded),
      isAway: () => this.trouble !== undefined,
      ping: () => this.#reachability.suspect(),
      onSilence: () => this.#cut(),
    })
  }

  /** The reason why the server is unreachable; undefined otherwise. */
  get trouble(): string | undefined {
    return this.#reachability.trouble
  }

  get schema(): string {
    return this.#place.schema
  }

  get #connectTimeout(): number {
    return this.#place.connectTimeout ?? CONNECT_TIMEOUT_MS
  }

  get #isRefused(): boolean {
    return this.#reachability.refusal !== undefined
  }

  /** The reason why writes are refused while reads continue; undefined otherwise. */
  get readOnly(): string | undefined {
    return this.#isReadOnly ? READ_ONLY : undefined
  }

  /** The connections for transactions. */
  get pool(): Pick<Pool, 'open' | 'idle' | 'waiting'> {
    return this.#pool
  }

  /** Sent together with other pending ones. @throws {DatabaseError} */
  async read(wanted: Sql): Promise<Reply> {
    const order = { ...this.statements.get(wanted), want: 'rows' } as const
    const work = async (client: Client) => (await sendBatch(client, [order]))[0] as Reply
    const onTransactions = () => this.withSession((_session, client) => work(client))
    for (;;) {
      this.#reachability.assert()
      if (this.#readers.open === 0 && this.#pool.open === 0 && this.#pool.waiting > 0) return onTransactions()
      try {
        return await this.#readers.run(work)
      } catch (error) {
        if (!(error instanceof NoNewConnection)) throw error
        if (this.#readers.open === 0) return onTransactions()
      }
    }
  }

  /** Rolls back if `work` throws. @throws {DatabaseError} `busy`, `unavailable` */
  async withSession<Result>(work: (session: Session, client: Client) => Promise<Result>): Promise<Result> {
    this.#reachability.assert()
    const client = await this.#pool.acquire()
    const session = new Session(client, this.statements)
    let broken = false
    try {
      return await work(session, client)
    } catch (error) {
      broken = isUseless(error) || !(await session.rollback())
      throw error
    } finally {
      this.#pool.release(client, broken || hasChangedSession(client))
    }
  }

  /** For schema changes: it may write, without time limits except for locks. @throws {DatabaseError} */
  async withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#reachability.assert()
    const client = await this.#connectWithPatience()
    try {
      return await work(client)
    } finally {
      await hangUp(client)
    }
  }

  /** @returns a function that ends it */
  listen(channel: string, listener: () => void): () => Promise<void> {
    const hear = (payload: string | undefined) => {
      if (payload === this.#place.schema) listener()
    }
    const connectOne = async () => {
      try {
        return this.#keep(await this.#connect(this.#connectTimeout))
      } catch (error) {
        await this.#failed(error as Error)
        throw error
      }
    }
    return listen(connectOne, channel, hear)
  }

  /** Resolves when all work is done and every connection closed. */
  async close(): Promise<void> {
    this.#endWatch()
    clearInterval(this.#defaults)
    await this.#reachability.close()
    await Promise.all([this.#pool.end(), this.#readers.end()])
  }

  /**
   * Compares the sessions of clients that are connected at once: behind a pooler that shares sessions
   * two have the same one, or one has different ones in turn.
   * @throws {StorageUnfitError} if sessions are shared
   */
  async assertOwnSession(client: Client): Promise<void> {
    const backend = this.#backends.get(client)
    if (backend === undefined) return
    for (let number = 0; number < COMPARISONS; number++) {
      const other = await this.#connect(this.#connectTimeout).catch((error) => {
        if (error instanceof StorageUnfitError) throw error
        throw new StorageUnfitError(
          `the pooler gives no second connection (${error.message}): it must allow ${this.#place.connectionLimit} for each process, or set ?connection_limit= to fewer`,
        )
      })
      const { rows } = await client.query('SELECT pg_backend_pid() AS backend').finally(() => hangUp(other))
      if (rows[0].backend !== backend) throw sharedSession()
    }
  }

  /** A new session shows what counts. Older ones keep the default of their beginning. */
  async #lookAtDefault(): Promise<void> {
    if (this.trouble !== undefined || this.#isRefused) return
    const wasReadOnly = this.#isReadOnly
    try {
      const [found] = wasReadOnly ? [] : (await this.read(READ_ONLY_DEFAULT)).rows
      if (!wasReadOnly && found?.isReadOnly !== 1) return
      hangUp(await this.#connect(this.#connectTimeout))
      if (wasReadOnly && !this.#isReadOnly) this.#readers.giveUpAll()
    } catch {
      // Other calls to the server report why it is unreachable.
    }
  }

  /** Breaks connections without a response. */
  #cut(): void {
    const error = new Error('the server does not respond')
    this.#pool.refuseAll(this.#reachability.away(error))
    for (const client of this.#lasting) cut(client, error)
  }

  async #look(): Promise<void> {
    for (;;) {
      try {
        hangUp(await this.#connect(this.#place.connectTimeout ?? LOOK_TIMEOUT_MS))
        return
      } catch (error) {
        if (await this.#isRenewed(error)) continue
        if (!this.#canWait(error)) throw error
        if (this.#openCount > 0) return
      }
      await pause(ROOM_INTERVAL_MS)
    }
  }

  /** The server responds on the open connections, or soon on the first. */
  #canWait(error: unknown): boolean {
    if (!isTooManyConnections(error)) return false
    if (this.#openCount > 0) return true
    this.#noneSince ??= performance.now()
    return performance.now() - this.#noneSince < FIRST_TIMEOUT_MS
  }

  /** Whether the open connections work. */
  async #serves(error: unknown): Promise<boolean> {
    if (this.#openCount === 0) return false
    if (isRefused(error)) return true
    const signs = [...this.#lasting].map((client) =>
      client.query('SELECT 1').catch((error) => {
        // In an aborted transaction.
        if (!(error instanceof ServerError)) throw error
      }),
    )
    const silence = new AbortController()
    const late = pause(SIGN_MS, undefined, { signal: silence.signal, ref: false }).then(() => false)
    const sign = Promise.any(signs).then(
      () => true,
      () => false,
    )
    return Promise.race([sign, late]).finally(() => silence.abort())
  }

  /** Whether to try again, with another user, password or certificate. */
  async #isRenewed(error: unknown): Promise<boolean> {
    if (this.#renew === undefined || isTooManyConnections(error)) return false
    const url = await this.#renew()
    if (url === undefined) return false
    const { servers, name } = parsePostgresUrl(url)
    if (name !== this.#place.name || isDeepStrictEqual(servers, this.#servers)) return false
    this.#servers = servers
    this.#server = servers[0] as PostgresServer
    return true
  }

  get #openCount(): number {
    return this.#pool.open + this.#readers.open
  }

  /** Connects to a writable server; tries the last known one first. */
  async #connect(timeout: number): Promise<Client> {
    const last = this.#server
    const failures: Error[] = []
    for (const server of [last, ...this.#servers.filter((other) => other !== last)]) {
      const client = new Client({ ...this.#config(server), connectionTimeoutMillis: timeout })
      // An error of the connection fails its query as well.
      client.on('error', () => {})
      try {
        await this.#begin(client, 'mortise', COMMANDS, timeout)
        this.#server = server
        return client
      } catch (error) {
        failures.push(error as Error)
      }
    }
    if (failures.length === 1) throw failures[0]
    throw new AggregateError(failures, failures.map(({ message }) => message).join('; '))
  }

  /** Like `#connect`, with a short wait if the server has no room. @throws {DatabaseError} */
  async #connectWithPatience(): Promise<Client> {
    for (const deadline = performance.now() + this.#connectTimeout; ; await pause(ROOM_INTERVAL_MS)) {
      try {
        return await this.#connect(this.#connectTimeout)
      } catch (error) {
        if (error instanceof StorageUnfitError) throw error
        if (await this.#isRenewed(error)) continue
        const isTooMany = isTooManyConnections(error)
        if (!isTooMany) {
          const failure = await this.#reachability.failed(error as Error)
          throw failure ?? new DatabaseError('busy', troubleOf(error as Error), { cause: error })
        }
        if (performance.now() < deadline) continue
        const reason = `no connection to the database became free: ${(error as Error).message}`
        throw new DatabaseError('busy', reason, { cause: error })
      }
    }
  }

  /** A connection with the limits of requests, to the known server. */
  async #connectLasting(settings: SessionSettings = {}): Promise<Client> {
    const client = new Client({
      ...this.#config(this.#server),
      connectionTimeoutMillis: this.#connectTimeout,
      query_timeout: RESPONSE_TIMEOUT_MS,
    })
    let isConnected = false
    // Its pending queries fail by themselves.
    client.on('error', () => isConnected && this.#reachability.suspect())
    this.#keep(client)
    await this.#begin(
      client,
      hostConnectionName(this.#place),
      { ...REQUESTS, ...settings },
      this.#connectTimeout,
    )
    isConnected = true
    watchSession(client)
    this.#noneSince = undefined
    return client
  }

  #keep(client: Client): Client {
    this.#lasting.add(client)
    client.on('end', () => {
      this.#lasting.delete(client)
      this.#readOfEnded += bytesReadOf(client)
    })
    return client
  }

  /** Undefined if other connections can replace it. */
  async #failed(error: Error): Promise<DatabaseError | undefined> {
    if (isTooManyConnections(error)) {
      this.#room.refused(this.#openCount)
      if (!this.#canWait(error)) return this.#reachability.away(error)
      if (this.#openCount > 0) this.#withoutRoom.add(troubleOf(error), REFUSED_MS)
      return undefined
    }
    return this.#reachability.failed(error)
  }

  /** Connects, and begins the session. */
  async #begin(client: Client, name: string, settings: SessionSettings, timeout: number): Promise<void> {
    const { schema, applicationName, requiresChannelBinding } = this.#place
    const application_name = [name, applicationName]
      .filter(Boolean)
      .join(' ')
      // The server would shorten it, and replace other characters.
      .slice(0, LONGEST_NAME)
      .replace(/[^ -~]/g, '?')
    const { backend, isPooled, isReadOnly } = await connect(client, {
      settings: { search_path: schema, application_name, ...settings },
      timeout,
      requiresChannelBinding,
    }).catch((error) => {
      this.#refused += 1
      throw error
    })
    this.#isReadOnly = isReadOnly
    if (!isPooled) return
    const [other] = [...this.#backends].find(([, each]) => each === backend) ?? []
    // One that ends may have just given it back.
    const isShared = await other?.query('SELECT 1').then(
      () => true,
      () => false,
    )
    if (isShared) {
      hangUp(client)
      throw sharedSession()
    }
    this.#backends.set(client, backend)
    client.on('end', () => this.#backends.delete(client))
  }

  #config(server: PostgresServer): ClientConfig {
    return {
      ...server,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
      types: valueTypes,
    }
  }
}

const bytesReadOf = ({ connection }: Client) => (connection.stream as Socket).bytesRead
