import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { Client, type ClientConfig } from 'pg'
import { type Reply, sendBatch } from './batch.ts'
import { connect, cut, hangUp, hasChangedSession, watchSession } from './client.ts'
import { Room } from './connection-budget.ts'
import { isTooManyConnections, isUseless } from './database-error.ts'
import { listen } from './listener.ts'
import { Pool } from './pool.ts'
import type { PostgresAddress, PostgresServer } from './postgres-url.ts'
import { Reachability } from './reachability.ts'
import { Readers } from './readers.ts'
import { watchResponses } from './response-timeout.ts'
import { Session } from './session.ts'
import { StatementTexts } from './statement-texts.ts'
import { valueTypes } from './value-types.ts'

/** One connection listens to the outbox, one checks the server, one migrates or copies. */
const OTHERS = 3
/** How long it may take to connect. */
const CONNECT_TIMEOUT_MS = 5_000
/** Time limit for a connection that only checks the server. */
const LOOK_TIMEOUT_MS = 2_000
/** How long to wait for the first connection while the server has no room. */
const FIRST_TIMEOUT_MS = 2_000
/** Pause between tries while the server has no room. */
const ROOM_INTERVAL_MS = 250
/** Longer than the server's own limits. */
const RESPONSE_TIMEOUT_MS = 10_000
/** After this time without traffic TCP keep-alive checks the connection. */
const KEEP_ALIVE_MS = 5_000

/** Settings at the beginning of each session. */
const LIMITS = { statement_timeout: '5s', lock_timeout: '3s', idle_in_transaction_session_timeout: '10s' }
/** Independent of the server's defaults: a commit is on its disk, and writes need a transaction. */
const GUARDS = { synchronous_commit: 'on', default_transaction_read_only: 'on', timezone: 'UTC' }

/**
 * A scan of a whole table, which the server prefers for a small one, locks it for a serializable
 * transaction: all that write in it would conflict.
 */
const BY_INDEX = { enable_seqscan: 'off' }

/** A command that replaces the data looks for connections of this name. */
export const hostConnectionName = ({ schema }: PostgresAddress) => `mortise ${schema}`.slice(0, 63)

/** The connections of one host to its database. */
export class Connections {
  readonly statements = new StatementTexts()
  readonly #place: PostgresAddress
  readonly #reachability: Reachability
  readonly #room: Room
  /** For single reads. */
  readonly #readers: Readers
  /** For transactions. */
  readonly #pool: Pool
  readonly #endWatch: () => void
  /** All lasting connections. */
  readonly #lasting = new Set<Client>()
  /** Bytes read from closed connections: a refusal is a response too. */
  #readOfEnded = 0
  /** The time since which there is no lasting connection because the server has no room. */
  #noneSince: number | undefined
  /** The server that was writable at the last check. */
  #server: PostgresServer

  constructor(place: PostgresAddress) {
    this.#place = place
    this.#server = place.servers[0] as PostgresServer
    this.#room = new Room(place.connectionLimit - OTHERS)
    this.#reachability = new Reachability(() => this.#look())
    this.#readers = new Readers({
      limit: () => this.#room.readers,
      connect: () =>
        this.#connectLasting().catch((error) => {
          throw this.#failed(error) ?? error
        }),
    })
    this.#pool = new Pool({
      limit: () => this.#room.transactions,
      connect: () => this.#connectLasting(BY_INDEX),
      failed: (error) => {
        const failure = this.#failed(error)
        // Reads can use any connection.
        if (failure === undefined && this.#pool.open === 0) this.#readers.giveUpOne()
        return failure
      },
    })
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
        if (!isTooManyConnections(error)) throw error
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

  /** For schema changes: it may write, without time limits. @throws {DatabaseError} */
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
    return listen(async () => this.#keep(await this.#connect(CONNECT_TIMEOUT_MS)), channel, hear)
  }

  /** Resolves when all work is done and every connection closed. */
  async close(): Promise<void> {
    this.#endWatch()
    await this.#reachability.close()
    await Promise.all([this.#pool.end(), this.#readers.end()])
  }

  /** Breaks connections without a response. */
  #cut(): void {
    const error = new Error('the server does not respond')
    this.#pool.refuseAll(this.#reachability.failed(error))
    for (const client of this.#lasting) cut(client, error)
  }

  async #look(): Promise<void> {
    for (;;) {
      try {
        hangUp(await this.#connect(LOOK_TIMEOUT_MS))
        return
      } catch (error) {
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

  get #openCount(): number {
    return this.#pool.open + this.#readers.open
  }

  /** Connects to a writable server; tries the last known one first. */
  async #connect(timeout: number): Promise<Client> {
    const last = this.#server
    const failures: Error[] = []
    for (const server of [last, ...this.#place.servers.filter((other) => other !== last)]) {
      const settings = { ...GUARDS, default_transaction_read_only: 'off' }
      const client = new Client({ ...this.#config(server, settings), connectionTimeoutMillis: timeout })
      // An error of the connection fails its query as well.
      client.on('error', () => {})
      try {
        await connect(client, timeout)
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
    for (const deadline = performance.now() + CONNECT_TIMEOUT_MS; ; await pause(ROOM_INTERVAL_MS)) {
      try {
        return await this.#connect(CONNECT_TIMEOUT_MS)
      } catch (error) {
        if (!isTooManyConnections(error)) throw this.#reachability.failed(error as Error)
        if (performance.now() < deadline) continue
        const reason = `no connection to the database became free: ${(error as Error).message}`
        throw new DatabaseError('busy', reason, { cause: error })
      }
    }
  }

  /** A connection with the limits of requests, to the known server. */
  async #connectLasting(settings: Readonly<Record<string, string>> = {}): Promise<Client> {
    const client = new Client({
      ...this.#config(this.#server, { ...GUARDS, ...LIMITS, ...settings }),
      application_name: hostConnectionName(this.#place),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: RESPONSE_TIMEOUT_MS,
    })
    let isConnected = false
    // Its pending queries fail by themselves.
    client.on('error', () => isConnected && this.#reachability.suspect())
    this.#keep(client)
    await connect(client, CONNECT_TIMEOUT_MS)
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
  #failed(error: Error): DatabaseError | undefined {
    if (isTooManyConnections(error)) this.#room.refused(this.#openCount)
    return this.#canWait(error) ? undefined : this.#reachability.failed(error)
  }

  #config(server: PostgresServer, settings: Readonly<Record<string, string>>): ClientConfig {
    const all = { search_path: this.#place.schema, ...settings }
    return {
      ...server,
      options: Object.entries(all)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
      application_name: 'mortise',
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
      types: valueTypes,
    }
  }
}

const bytesReadOf = ({ connection }: Client) => (connection.stream as Socket).bytesRead
