import type { FastifyBaseLogger } from 'fastify'
import type { Transaction } from './transaction.ts'

/** A job after its last attempt. */
export interface FailedJob<Data = unknown> {
  readonly id: string
  readonly data: Data
  /** Of the last attempt: for people. */
  readonly error: string
}

/** When the jobs of a kind are due, and how they run. */
export interface WorkOptions<Data = unknown> {
  /**
   * A cron expression in UTC (`0 3 * * *`): a job is due at each of these times, with an id of its
   * own. Times that pass while nothing serves are made up for by one job.
   */
  readonly schedule?: string
  /** The most jobs at a time on each host. The default is 4. */
  readonly concurrency?: number
  /** An attempt fails after this time, in milliseconds. The default is 60,000. */
  readonly timeout?: number
  /**
   * Steps for a job that has failed for the last time, in the transaction that gives it up: say so on
   * what waits for it. `app work replay` may make the job due again. A job of a schedule has a next
   * one instead.
   */
  onFailed?(job: FailedJob<Data>): Transaction<unknown>
}

/** One attempt at a job. */
export interface Job<Data = unknown> {
  /**
   * A TypeID, the same in every attempt and on every host. Send it as an idempotency key to other
   * systems: a job happens at least once, and two attempts may overlap.
   */
  readonly id: string
  readonly data: Data
  /** 1 for the first attempt. */
  readonly attempt: number
  /**
   * Aborted after the timeout, when the module stops serving, or when another host may have taken
   * the job over. Pass it on: to `fetch`, say.
   */
  readonly signal: AbortSignal
  readonly log: FastifyBaseLogger
}

/** Jobs of one kind, which a module does outside of transactions. */
export interface Work<Data> {
  /**
   * A step of a transaction: the job is stored if and only if the transaction commits.
   * @param data JSON of at most 256 KiB
   * @param options `at`: the job is due then, in epoch milliseconds; the default is at once
   * @returns the id of the job
   * @throws {TypeError} if `data` is no JSON, or too large
   */
  add(data: Data, options?: { readonly at?: number }): Transaction<string>
}

/** Does one job: resolves when it is done, rejects if it must be tried again. */
export type Perform<Data> = (job: Job<Data>) => Promise<void>
