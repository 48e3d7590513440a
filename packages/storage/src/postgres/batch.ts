import type { Statement } from '@mortise/module-sdk/transaction'
import { type ClientBase, type Connection, type FieldDef, Query, DatabaseError as ServerError } from 'pg'
import { toDatabaseError } from './database-error.ts'
import type { BoundStatement } from './statement-texts.ts'
import { valueTypes } from './value-types.ts'

/** One statement of a batch. */
export interface Order extends BoundStatement {
  readonly want: Statement['want']
  /** Converts its error; without it `toDatabaseError` does. */
  readonly toError?: (error: unknown) => Error
}

export interface Reply {
  /** None unless they were wanted. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the columns
  readonly rows: any[]
  /** The server's word for what it did, with a number of rows: `INSERT 0 1`, `COMMIT`. */
  readonly tag: string
}

interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** A statement as a connection knows it. Its columns are known once it has been described. */
interface Prepared {
  columns: readonly Column[]
}

const preparedOn = new WeakMap<Connection, Map<string, Prepared>>()

/** The driver sends only queries of its own class before earlier ones have had their replies. */
const DriverQuery = Query as unknown as new (text: string) => object

/**
 * Statements that are sent together, and return together: one round trip. The server runs them in
 * order, and none after one that fails. A statement with a name is prepared and described once per
 * connection.
 */
export class Batch extends DriverQuery {
  readonly done: Promise<Reply[]>
  /** The driver replaces it, for its time limit. */
  callback: (error: Error | null, replies?: Reply[]) => void
  readonly #orders: readonly Order[]
  readonly #prepared: Prepared[] = []
  /** Those so far. */
  readonly replies: Reply[] = []
  #forget = (_from: number) => {}
  // biome-ignore lint/suspicious/noExplicitAny: see Reply
  #rows: any[] = []
  #unreadable: Error | undefined
  #failed: Order | undefined

  constructor(orders: readonly Order[]) {
    super('')
    this.#orders = orders
    const { promise, resolve, reject } = Promise.withResolvers<Reply[]>()
    this.done = promise
    this.callback = (error, replies) => (error === null ? resolve(replies ?? []) : reject(error))
  }

  /** Whether the server works at the last statement. */
  get isAtLast(): boolean {
    return this.replies.length === this.#orders.length - 1
  }

  /** The one that the server refused. */
  get failed(): Order | undefined {
    return this.#failed
  }

  submit(connection: Connection & Driver): null {
    const known = preparedOn.get(connection) ?? new Map<string, Prepared>()
    preparedOn.set(connection, known)
    const added: [number, string][] = []
    this.#forget = (from) => {
      for (const [index, name] of added) if (index >= from) known.delete(name)
    }
    connection.stream.cork()
    for (const { statement, values } of this.#orders) {
      const { name = '', text } = statement
      let prepared = known.get(name)
      if (prepared === undefined) {
        prepared = { columns: [] }
        if (name !== '') {
          known.set(name, prepared)
          added.push([this.#prepared.length, name])
          // The server keeps a statement that it prepared, but failed to run.
          connection.close({ type: 'S', name })
        }
        connection.parse({ text, name })
        connection.describe({ type: 'S', name })
      }
      this.#prepared.push(prepared)
      connection.bind({ statement: name, values, valueMapper })
      connection.execute({})
    }
    connection.sync()
    connection.stream.uncork()
    return null
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    const prepared = this.#prepared[this.replies.length] as Prepared
    prepared.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: valueTypes.getTypeParser(dataTypeID, 'text'),
    }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const at = this.replies.length
    if (this.#orders[at]?.want !== 'rows' || this.#unreadable) return
    const row: Record<string, unknown> = {}
    try {
      this.#prepared[at]?.columns.forEach(({ name, parse }, index) => {
        const text = fields[index] as string | null
        row[name] = text === null ? null : parse(text)
      })
    } catch (error) {
      this.#unreadable = toDatabaseError(error, this.#orders[at].statement.text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text: tag }: { readonly text: string }): void {
    this.replies.push({ rows: this.#rows, tag })
    this.#rows = []
  }

  /** Of an empty statement. */
  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  /** If the connection broke, it is only known what was sent: the last statement as well. */
  handleError(error: Error): void {
    const at = this.replies.length
    this.#forget(at)
    if (error instanceof ServerError) this.#failed = this.#orders[at]
    const { statement, toError } = (this.#failed ?? this.#orders.at(-1)) as Order
    this.callback(toError?.(error) ?? toDatabaseError(error, statement.text))
  }

  handleReadyForQuery(): void {
    this.callback(this.#unreadable ?? null, this.replies)
  }
}

/** Methods of the driver's connection as it takes them. */
interface Driver {
  close(message: { type: 'S'; name: string }): void
  parse(query: { text: string; name: string }): void
  describe(message: { type: 'S'; name: string }): void
  bind(config: {
    statement: string
    values: readonly unknown[]
    valueMapper: (value: unknown) => unknown
  }): void
  execute(config: object): void
  sync(): void
}

/** The driver sends a Buffer as it is, and all else as text. */
function valueMapper(value: unknown): Buffer | string | null {
  if (value === null) return null
  if (typeof value !== 'object') return String(value)
  const { buffer, byteOffset, byteLength } = value as Uint8Array
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** @throws {DatabaseError} */
export function sendBatch(client: ClientBase, orders: readonly Order[]): Promise<Reply[]> {
  const batch = new Batch(orders)
  client.query(batch as never)
  return batch.done
}
