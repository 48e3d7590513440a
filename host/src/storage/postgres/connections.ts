import { DatabaseError, type Sql } from '@mortise/module-sdk'
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type QueryResult } from 'pg'
import { RetriableError } from './database-error.ts'
import { Ear } from './ear.ts'
import type { PostgresPlace, PostgresServer } from './postgres-url.ts'
import { Reachability } from './reachability.ts'
import { query, Session } from './session.ts'
import { StatementTexts } from './statement-texts.ts'
import { valueTypes } from './value-types.ts'

/** Connections that a host keeps for single reads: each takes any number of them at once, one after the other. */
const READERS = 4
/** Connections that a host has for transactions at most: each has one of them at a time. */
const TRANSACTIONS = 12
/** How long it may take to connect, or to be given one of the connections for transactions. */
const CONNECT_TIMEOUT_MS = 5_000
/** How long an answer may take before the connection counts as broken: longer than the server's own limits. */
const ANSWER_TIMEOUT_MS = 10_000

/** What each session is told when it begins. */
const LIMITS = { statement_timeout: '5s', lock_timeout: '3s', idle_in_transaction_session_timeout: '10s' }
/** Whatever the server's defaults are: what was committed is on its disk, and nothing is written but in a transaction. */
const GUARDS = { synchronous_commit: 'on', default_transaction_read_only: 'on', timezone: 'UTC' }

/** What the server calls the connections that a host serves from: who replaces the data looks for them. */
export const hostConnectionName = ({ schema }: PostgresPlace) => `mortise ${schema}`.slice(0, 63)

/** The connections of one host to its database. */
export class Connections {
  readonly statements = new StatementTexts()
  readonly #place: PostgresPlace
  readonly #reachability: Reachability
  readonly #readers: readonly Reader[]
  readonly #pool: Pool
  /** The server that could be written when it was last looked. */
  #server: PostgresServer

  constructor(place: PostgresPlace) {
    this.#place = place
    this.#server = place.servers[0] as PostgresServer
    this.#reachability = new Reachability(async () => {
      const client = await this.#connect()
      await client.end()
    })
    this.#readers = Array.from({ length: READERS }, () => this.#createReader())
    const lasting = () => this.#lasting()
    this.#pool = new Pool({
      max: TRANSACTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // Each to the server of its time.
      Client: class extends Client {
        constructor() {
          super(lasting())
        }
      },
      onConnect: assertWritable,
    })
    this.#pool.on('error', () => this.#reachability.suspect())
    // The pool leaves a new one without a listener for a moment, in which it may break and end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /** Why the server cannot be reached; undefined while it can. */
  get trouble(): string | undefined {
    return this.#reachability.trouble
  }

  /** Those for transactions. */
  get pool(): { readonly open: number; readonly idle: number; readonly waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { open: totalCount, idle: idleCount, waiting: waitingCount }
  }

  /** One read, together with those of others on its way. @throws {DatabaseError} */
  async read(wanted: Sql): Promise<QueryResult> {
    const statement = this.statements.get(wanted)
    this.#reachability.assert()
    const reader = this.#readers.reduce((least, other) => (other.pending < least.pending ? other : least))
    return reader.run((client) => query(client, statement))
  }

  /**
   * Lends a connection for one transaction, which is rolled back where `work` throws.
   * @throws {DatabaseError} `busy` where none is free for long, `unavailable`
   */
  async withSession<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    this.#reachability.assert()
    const client = await this.#acquire()
    let broken = false
    const onError = () => {
      broken = true
      this.#reachability.suspect()
    }
    client.on('error', onError)
    const session = new Session(client, this.statements)
    try {
      return await work(session)
    } catch (error) {
      broken ||= isUseless(error) || !(await session.rollback())
      throw error
    } finally {
      client.release(broken)
      client.off('error', onError)
    }
  }

  /** Lends a connection for changing the schema: it may write, and takes as long as it takes. @throws {DatabaseError} */
  async withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#reachability.assert()
    let client: Client
    try {
      client = await this.#connect()
    } catch (error) {
      throw this.#connectError(error as Error)
    }
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  /** Calls `listener` for what is told on a channel with the name of this schema; the answer ends it. */
  listen(channel: string, listener: () => void): () => Promise<void> {
    const ear = new Ear(
      () => this.#connect(),
      channel,
      (payload) => {
        if (payload === this.#place.schema) listener()
      },
    )
    return () => ear.close()
  }

  /** Resolves when what was begun is answered and every connection closed. */
  async close(): Promise<void> {
    await this.#reachability.close()
    await Promise.all([this.#pool.end(), ...this.#readers.map((reader) => reader.end())])
  }

  /** To whichever server can be written now, the one that could last first. */
  async #connect(): Promise<Client> {
    const last = this.#server
    const failures: Error[] = []
    for (const server of [last, ...this.#place.servers.filter((other) => other !== last)]) {
      const client = new Client(this.#config(server, { ...GUARDS, default_transaction_read_only: 'off' }))
      // What breaks fails its query as well.
      client.on('error', () => {})
      try {
        await connect(client)
        this.#server = server
        return client
      } catch (error) {
        failures.push(error as Error)
      }
    }
    if (failures.length === 1) throw failures[0]
    throw new AggregateError(failures, failures.map(({ message }) => message).join('; '))
  }

  async #acquire(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw this.#connectError(error as Error)
    }
  }

  #connectError(error: Error & { code?: string }): DatabaseError {
    // The pool's own words for all connections being in use.
    if (error.message === 'timeout exceeded when trying to connect' || error.code === '53300') {
      return new DatabaseError('busy', `no connection to the database became free: ${error.message}`, {
        cause: error,
      })
    }
    return this.#reachability.failed(error)
  }

  #createReader(): Reader {
    return new Reader(
      () => new Client(this.#lasting()),
      (error) => this.#connectError(error),
      () => this.#reachability.suspect(),
    )
  }

  #lasting(): ClientConfig {
    return {
      ...this.#config(this.#server, { ...GUARDS, ...LIMITS }),
      application_name: hostConnectionName(this.#place),
      query_timeout: ANSWER_TIMEOUT_MS,
    }
  }

  #config(server: PostgresServer, settings: Readonly<Record<string, string>>): ClientConfig {
    const all = { search_path: this.#place.schema, ...settings }
    return {
      ...server,
      options: Object.entries(all)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
      application_name: 'mortise',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      pipeline: true,
      types: valueTypes,
    }
  }
}

/** Node's codes for a certificate whose authority is not known. */
const UNTRUSTED = /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_.*)$/

/** @throws {Error} where the server cannot be reached or trusted, or is a standby */
async function connect(client: Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (!UNTRUSTED.test(code ?? '')) throw error
    const reason = `who signed its certificate is not known (${message}): name the authority with sslrootcert`
    throw new Error(reason, { cause: error })
  }
  try {
    await assertWritable(client)
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/** @throws {Error} for a standby: it takes no writes, and what it shows may be late */
async function assertWritable(client: ClientBase): Promise<void> {
  const question = { text: 'SELECT pg_is_in_recovery()::int AS standby', query_timeout: CONNECT_TIMEOUT_MS }
  const { rows } = await client.query(question)
  if (rows[0].standby === 1) throw new Error('it is a standby, which cannot be written: name the primary')
}

/** Whether a connection had better not be used again: it is broken, or has prepared what no longer fits the schema. */
const isUseless = (error: unknown) => error instanceof RetriableError && (error.lost || error.stale)

/**
 * Has all that a connection is asked in this turn of the event loop go out at once: writing to a socket is most of
 * what a short statement costs this process.
 */
function sendTogether({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** One connection that is sent one read after the other without waiting for answers. Connects when it is first used. */
class Reader {
  readonly #create: () => Client
  readonly #connectError: (error: Error) => DatabaseError
  readonly #onBroken: () => void
  #client: Promise<Client> | undefined
  /** How many reads are on their way. */
  pending = 0

  constructor(create: () => Client, connectError: (error: Error) => DatabaseError, onBroken: () => void) {
    this.#create = create
    this.#connectError = connectError
    this.#onBroken = onBroken
  }

  async run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#client ??= this.#connect()
    const used = this.#client
    this.pending += 1
    let client: Client | undefined
    try {
      client = await used
      sendTogether(client)
      return await work(client)
    } catch (error) {
      if (this.#client === used && (client === undefined || isUseless(error))) {
        this.end().catch(() => {})
      }
      throw error
    } finally {
      this.pending -= 1
    }
  }

  /** Closes the connection once what it was sent is answered; the next read makes another. */
  async end(): Promise<void> {
    const ended = this.#client
    this.#client = undefined
    const client = await ended?.catch(() => undefined)
    await client?.end()
  }

  async #connect(): Promise<Client> {
    const client = this.#create()
    let connected = false
    // Its reads fail by themselves.
    client.on('error', () => connected && this.#onBroken())
    try {
      await connect(client)
      connected = true
      return client
    } catch (error) {
      throw this.#connectError(error as Error)
    }
  }
}
