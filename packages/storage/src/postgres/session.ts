import { isDeepStrictEqual } from 'node:util'
import { DatabaseError, type Statement } from '@mortise/module-sdk/transaction'
import type { ClientBase } from 'pg'
import { Batch, type Order, type Reply, sendBatch } from './batch.ts'
import { RetriableError, toBeginError, toCommitError } from './database-error.ts'
import type { StatementTexts } from './statement-texts.ts'

/** The SQLSTATE class of warnings; notices have class 00. */
const WARNING = '01'

/**
 * A step failed, or returned otherwise than expected, after the generator had gone on: it has to run
 * again, and wait for each step.
 */
export class NeedsWaiting extends Error {
  /** The number of the step, from 0, and its error. */
  readonly step: number
  readonly error: unknown

  constructor(step = -1, error?: unknown) {
    super()
    this.step = step
    this.error = error
  }
}

/** An order for a step that the generator does not wait for. */
interface Deferred extends Order {
  readonly step: number
  readonly expected?: unknown
}

const order = (text: string, toError?: Order['toError']): Order => ({
  statement: { text, name: text },
  values: [],
  want: 'nothing',
  ...(toError && { toError }),
})

const COMMIT = order('COMMIT', toCommitError)
const ROLLBACK = order('ROLLBACK')
const SAVE = order('SAVEPOINT step')
const RELEASE = order('RELEASE step')
const UNDO = order('ROLLBACK TO step')

/**
 * One transaction on a connection for exclusive use. Outside of BEGIN … COMMIT the connection
 * refuses writes, so no write commits by accident. BEGIN and the steps that nobody waits for are
 * sent with the next statement, the last of them with COMMIT.
 */
export class Session {
  readonly #client: ClientBase
  readonly #statements: StatementTexts
  #unsent: (Order | Deferred)[] = []
  #isBegun = false
  /** The last one sent. */
  #batch: Batch | undefined

  constructor(client: ClientBase, statements: StatementTexts) {
    this.#client = client
    this.#statements = statements
  }

  /** @param mode the text after BEGIN */
  begin(mode: string): void {
    this.#unsent.push(order(`BEGIN ${mode}`, toBeginError))
  }

  /** Sends the statement with the next one. */
  defer({ query, want, expected }: Statement, step: number): void {
    this.#unsent.push({ ...this.#statements.get(query), want, expected, step })
  }

  /** Runs one statement of the transaction. A statement without rows returns none. */
  async execute({ query, want }: Statement): Promise<unknown> {
    const wanted = { ...this.#statements.get(query), want }
    return responseOf(want, (await this.#send(wanted)).at(-1) as Reply)
  }

  /** Like `execute`, but a failed statement leaves the transaction as it was, and usable. */
  async executeInSavepoint({ query, want }: Statement): Promise<unknown> {
    const wanted = { ...this.#statements.get(query), want }
    try {
      return responseOf(want, (await this.#send(SAVE, wanted, RELEASE)).at(-2) as Reply)
    } catch (error) {
      if (!(error instanceof RetriableError)) await this.#send(UNDO, RELEASE)
      throw error
    }
  }

  /** Sends what waits for the next statement. */
  async flush(): Promise<void> {
    if (this.#unsent.length > 0) await this.#send()
  }

  /** Ends a transaction that has only read. */
  async finish(): Promise<void> {
    await this.flush()
    // The results are valid even if the connection breaks now, and its next user comes after.
    this.rollback()
  }

  /** @throws {DatabaseError} `unknown-outcome` if the connection broke, or no standby confirmed */
  async commit(): Promise<void> {
    if (this.#unsent.some((order) => 'step' in order && order.expected !== undefined)) await this.flush()
    if (!this.#isBegun && this.#unsent.length === 0) return
    let warning: string | undefined
    const onNotice = ({ code, message }: { code?: string | undefined; message?: string | undefined }) => {
      if (this.#batch?.isAtLast && code?.startsWith(WARNING)) warning = message
    }
    this.#client.on('notice', onNotice)
    let reply: Reply
    try {
      reply = (await this.#send(COMMIT)).at(-1) as Reply
    } finally {
      this.#client.off('notice', onNotice)
    }
    // If the wait for a synchronous standby is cancelled, COMMIT succeeds with a warning.
    if (warning !== undefined) {
      throw new DatabaseError('unknown-outcome', `committed, but a failover may lose it: ${warning}`)
    }
    // After an error in the transaction COMMIT rolls back without an error.
    if (reply.tag !== 'COMMIT') {
      throw new DatabaseError('other', `the transaction was not committed: the server returned ${reply.tag}`)
    }
  }

  /** @returns whether the connection can be used again */
  async rollback(): Promise<boolean> {
    this.#unsent = []
    if (!this.#isBegun) return true
    try {
      await sendBatch(this.#client, [ROLLBACK])
      return true
    } catch {
      return false
    }
  }

  /** @throws {NeedsWaiting} for what was deferred */
  async #send(...orders: Order[]): Promise<Reply[]> {
    const sent: (Order | Deferred)[] = [...this.#unsent, ...orders]
    this.#unsent = []
    this.#isBegun = true
    this.#batch = new Batch(sent)
    this.#client.query(this.#batch as never)
    let replies: Reply[]
    try {
      replies = await this.#batch.done
    } catch (error) {
      if (error instanceof RetriableError) throw error
      const { failed } = this.#batch
      if (failed !== undefined && 'step' in failed) throw new NeedsWaiting((failed as Deferred).step, error)
      assertExpected(sent, this.#batch.replies)
      throw error
    }
    assertExpected(sent, replies)
    return replies
  }
}

function responseOf(want: Statement['want'], { rows, tag }: Reply): unknown {
  if (want === 'rows') return rows
  return tag.startsWith('SELECT') ? 0 : Number(/\d+$/.exec(tag)?.[0] ?? 0)
}

/** @throws {NeedsWaiting} */
function assertExpected(sent: readonly (Order | Deferred)[], replies: readonly Reply[]): void {
  for (const [index, reply] of replies.entries()) {
    const { want, step, expected } = sent[index] as Order & Partial<Deferred>
    if (expected !== undefined && !isDeepStrictEqual(responseOf(want, reply), expected))
      throw new NeedsWaiting(step)
  }
}
