import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError, type Transaction } from '@mortise/module-sdk/transaction'
import { BrokenStorageError, isShortage } from '../port/errors.ts'
import { type Outbox, StepReader } from '../port/steps.ts'
import type { StorageObserver } from '../port/storage.ts'
import { type Connection, driveOn, retryWhileBusy } from './connection.ts'
import type { Reads } from './reads.ts'

/** Transactions per COMMIT at most, so that the event loop can turn in between. */
const LARGEST_GROUP = 128
/** How long a transaction waits for exclusive work, in milliseconds. */
const PATIENCE = 30_000
/** How many groups use savepoints after one in which a transaction failed after a write. */
const CAREFUL_GROUPS = 100
/** How often waiting transactions are checked, in milliseconds. */
const LOOK_INTERVAL = 1_000

interface Member {
  readonly steps: () => Transaction<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** Its group was rolled back: it runs again in a transaction of its own. */
  alone: boolean
  /** The time at which it was queued, by `performance.now()`. */
  readonly since: number
}

/** `isTorn`: it failed, and what it wrote cannot be undone by itself. */
type Outcome = { readonly result: unknown } | { readonly error: unknown; readonly isTorn?: true }

/**
 * Transactions queued during one turn of the event loop share one durable COMMIT. Their isolation:
 * - No promise settles before the COMMIT is on the disk, and no read shows it before, so a crash
 * cannot undo what someone has seen. The event loop turns meanwhile.
 * - A failed one leaves no trace with the others. If it has written, the group is rolled back and
 * runs again, each member in a savepoint, unless it is alone; so do the next groups, since failures
 * come in numbers. A savepoint costs an eighth of a small write.
 * - A group with a lost transaction (a deferred key fails its COMMIT, the disk is full, no file can
 * be opened) is rolled back as a whole, and each member runs again by itself, in order, the failed
 * ones too: they may have failed only because of a neighbour. So a group equals running its members
 * one by one. (A deferred key that a later neighbour satisfies would pass here and fail alone:
 * migrations refuse deferred keys.)
 * - From BEGIN to COMMIT nothing else runs: other users of the connection find no open transaction.
 * - Work that excludes a group (a schema change) runs between two groups, by `exclusive`.
 * - An I/O error or a corrupt file ends everything: `onBroken`, and no more. After a failed COMMIT
 * each member of the group rejects with `unknown-outcome`; otherwise nothing was changed.
 */
export class GroupCommit {
  readonly #connection: Connection
  readonly #reads: Pick<Reads, 'hold' | 'release'>
  readonly #onBroken: (error: BrokenStorageError) => void
  readonly #onShortage: (error: DatabaseError) => void
  readonly #steps: StepReader
  readonly #onWritten: (() => void) | undefined
  readonly #onPause: () => void
  readonly #rehearse: boolean
  readonly #observer: StorageObserver | undefined
  readonly #patience: number
  /** How many more groups use savepoints. */
  #careful = 0
  #queue: Member[] = []
  readonly #exclusive: { readonly run: () => Promise<void>; readonly reject: (error: unknown) => void }[] = []
  #draining: Promise<void> | undefined
  #ended: Error | undefined
  #broken: BrokenStorageError | undefined

  constructor(
    connection: Connection,
    reads: Pick<Reads, 'hold' | 'release'>,
    options: {
      readonly onBroken: (error: BrokenStorageError) => void
      /** Called for each transaction with a shortage, such as disk space. */
      readonly onShortage?: (error: DatabaseError) => void
      readonly outbox?: Outbox | undefined
      /** Called after a COMMIT with outbox rows. */
      readonly onWritten?: () => void
      /** Called between groups, after the turn of the event loop that settles the previous one. */
      readonly onPause?: () => void
      readonly rehearse: boolean
      readonly observer?: StorageObserver | undefined
      /** In milliseconds. */
      readonly patience?: number
    },
  ) {
    this.#patience = options.patience ?? PATIENCE
    this.#connection = connection
    this.#reads = reads
    this.#onBroken = options.onBroken
    this.#onShortage = options.onShortage ?? (() => {})
    this.#steps = new StepReader(options.outbox)
    this.#onWritten = options.onWritten
    this.#onPause = options.onPause ?? (() => {})
    this.#rehearse = options.rehearse
    this.#observer = options.observer
  }

  transaction<Result>(steps: () => Transaction<Result>): Promise<Result> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<Result>((resolve, reject) => {
      const since = performance.now()
      this.#queue.push({ steps, resolve: resolve as (result: unknown) => void, reject, alone: false, since })
      this.#draining ??= this.#drain()
    })
  }

  /**
   * Runs `work` before the next group. Transactions wait for its end, for half a minute at most:
   * then they reject as `busy`.
   */
  exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<Result>((resolve, reject) => {
      this.#exclusive.push({ run: () => work().then(resolve, reject), reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Resolves when queued transactions are done. */
  async idle(): Promise<void> {
    await this.#draining
  }

  /** Rejects further transactions with `reason`; resolves when queued ones are done. */
  async end(reason: Error): Promise<void> {
    this.#ended ??= reason
    await this.#draining
  }

  /** Rejects queued and later transactions with `error`. */
  abort(error: BrokenStorageError): void {
    this.#ended = error
    this.#broken = error
    for (const { reject } of this.#exclusive.splice(0)) reject(error)
    for (const member of this.#queue.splice(0)) member.reject(error)
  }

  async #drain(): Promise<void> {
    await nextTurn()
    for (;;) {
      await this.#runExclusive()
      const members = this.#queue.splice(0, this.#queue[0]?.alone ? 1 : LARGEST_GROUP)
      if (members.length === 0) {
        if (this.#exclusive.length === 0) break
        continue
      }
      try {
        const settle = await retryWhileBusy(() => this.#run(members))
        if (settle !== undefined) await this.#connection.sync()
        this.#reads.release()
        settle?.()
      } catch (error) {
        this.#reads.release()
        if (error instanceof DatabaseError && error.kind === 'busy') {
          for (const member of members) member.reject(error)
        } else {
          this.#break(error, members)
        }
      }
      await nextTurn()
      if (this.#broken === undefined) this.#onPause()
    }
    this.#draining = undefined
  }

  async #runExclusive(): Promise<void> {
    if (this.#exclusive.length === 0) return
    const timer = setInterval(() => this.#refuseOverdue(), Math.min(LOOK_INTERVAL, this.#patience))
    for (let next = this.#exclusive.shift(); next; next = this.#exclusive.shift()) await next.run()
    clearInterval(timer)
  }

  #refuseOverdue(): void {
    const latest = performance.now() - this.#patience
    const first = this.#queue.findIndex(({ since }) => since > latest)
    for (const member of this.#queue.splice(0, first < 0 ? this.#queue.length : first)) {
      member.reject(new DatabaseError('busy', 'the schema changes, and writes are refused until it ends'))
    }
  }

  /** Returns what settles the members once the COMMIT is on the disk. */
  #run(members: readonly Member[]): (() => void) | undefined {
    if (this.#broken !== undefined) throw this.#broken
    try {
      return this.#commitTogether(members)
    } catch (error) {
      if (!isShortage(error)) throw error
      if (this.#connection.inTransaction) this.#connection.rollback()
      this.#again(members, { error })
      if (members.length === 1) this.#onShortage(error)
      return undefined
    }
  }

  /**
   * @throws {DatabaseError} `busy` before anything has happened; of a shortage, which requires a
   * rollback of the group
   */
  #commitTogether(members: readonly Member[]): (() => void) | undefined {
    const connection = this.#connection
    connection.begin()
    const outcomes: Outcome[] = []
    for (const member of members) {
      const outcome = this.#attempt(member)
      if ('isTorn' in outcome) {
        connection.rollback()
        if (members.length > 1) {
          this.#careful = CAREFUL_GROUPS
          return this.#commitTogether(members)
        }
      }
      outcomes.push(outcome)
      // Only an error ends the transaction.
      if ('error' in outcome && !connection.inTransaction) {
        this.#again(members, outcome)
        return undefined
      }
    }
    if (this.#careful > 0) this.#careful -= 1
    const begun = performance.now()
    // A COMMIT that returns is not on the disk yet: `#drain` unpins.
    this.#reads.hold()
    const failure = connection.commit()
    if (failure !== undefined) {
      connection.rollback()
      this.#again(members, { error: failure })
      return undefined
    }
    return () => {
      // First, because all later errors come after the COMMIT.
      members.forEach((member, index) => {
        settle(member, outcomes[index] as Outcome)
      })
      this.#observer?.committed(members.length, performance.now() - begun)
      if (this.#steps.wrote) {
        this.#steps.wrote = false
        this.#onWritten?.()
      }
    }
  }

  #attempt(member: Member): Outcome {
    if (!this.#rehearse && this.#careful === 0) return this.#attemptBare(member)
    if (this.#rehearse) {
      const rehearsal = this.#attemptInSavepoint(member, 'undo')
      if (!this.#connection.inTransaction) return rehearsal
    }
    return this.#attemptInSavepoint(member, 'keep')
  }

  #attemptBare(member: Member): Outcome {
    const { writes } = this.#connection
    const outcome = this.#drive(member)
    if (!('error' in outcome) || this.#connection.writes === writes) return outcome
    return this.#connection.inTransaction ? { ...outcome, isTorn: true } : outcome
  }

  #attemptInSavepoint(member: Member, onSuccess: 'keep' | 'undo'): Outcome {
    const connection = this.#connection
    connection.savepoint()
    const outcome = this.#drive(member)
    if (!connection.inTransaction) return outcome
    if (onSuccess === 'undo' || 'error' in outcome) connection.rollbackToSavepoint()
    connection.release()
    return outcome
  }

  /** @throws {DatabaseError} of a shortage, or BrokenStorageError, and nothing else */
  #drive(member: Member): Outcome {
    try {
      return { result: driveOn(this.#connection, member.steps, (step) => this.#steps.read(step)) }
    } catch (error) {
      if (error instanceof BrokenStorageError || isShortage(error)) throw error
      return { error }
    }
  }

  /** The group was rolled back. For a member that ran alone, `last` is the outcome. */
  #again(members: readonly Member[], last: Outcome): void {
    const [first] = members as readonly [Member]
    if (members.length === 1) {
      settle(first, last)
      return
    }
    for (const member of members) member.alone = true
    this.#queue.unshift(...members)
  }

  #break(cause: unknown, members: readonly Member[]): void {
    const error =
      cause instanceof BrokenStorageError
        ? cause
        : new BrokenStorageError(`a group of transactions failed: ${(cause as Error).message}`, { cause })
    try {
      this.#onBroken(error)
    } finally {
      for (const member of members) member.reject(error)
      this.abort(error.afterwards)
    }
  }
}

function settle(member: Member, outcome: Outcome): void {
  if ('error' in outcome) member.reject(outcome.error)
  else member.resolve(outcome.result)
}
