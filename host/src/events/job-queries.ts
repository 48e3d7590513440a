import {
  join,
  many,
  maybeOne,
  now,
  run,
  type Sql,
  sql,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { MOST_ROWS } from '@mortise/storage'
import { isPostponed, lasts } from './handler-times.ts'

/** The jobs of one kind that wait, run or have failed for the last time. */
export interface WorkState {
  readonly module: string
  readonly work: string
  readonly waiting: number
  readonly running: number
  readonly failed: number
}

export interface FailedJob {
  readonly id: string
  readonly module: string
  readonly work: string
  readonly state: 'waiting' | 'running' | 'failed'
  readonly attempts: number
  /** The error of the last attempt. */
  readonly error: string
  /** RFC 3339; null after the last attempt. */
  readonly nextAttemptAt: string | null
}

export interface JobsState {
  readonly works: readonly WorkState[]
  /** Jobs whose last attempt failed, oldest first. */
  readonly failed: readonly FailedJob[]
}

/** Selects failed jobs: all, one, or those of one module. */
export interface JobChoice {
  readonly job?: string
  readonly module?: string
}

export type ChosenJob = Pick<FailedJob, 'id' | 'module' | 'work'>

/** A job that this process must do. */
export interface LeasedJob {
  readonly id: string
  readonly lease: string
  /** JSON. */
  readonly data: string
  /** This attempt included. */
  readonly attempts: number
}

/** What a look at the jobs of a work finds. */
export interface QueueState {
  /** The current time, in epoch milliseconds. */
  readonly now: number
  /** When a job is due, in milliseconds; null if none waits. */
  readonly dueIn: number | null
  /** Whether a process has died with a job. */
  readonly hasLost: number | boolean
}

export class JobQueue {
  readonly #module: string
  readonly #work: string
  readonly #term: number
  readonly #mine: Sql
  readonly #isLost: Sql

  /** @param term the duration of a lease, in milliseconds */
  constructor(module: string, work: string, term: number) {
    this.#module = module
    this.#work = work
    this.#term = term
    this.#mine = sql`module = ${module} AND work = ${work}`
    this.#isLost = sql`${this.#mine} AND state = 'running' AND NOT ${lasts(sql`held_until`, term)}`
  }

  *insert(id: string, data: string, at: number | undefined): Transaction<void> {
    yield* run(sql`
      INSERT INTO mortise_job (id, module, work, data, state, due_at, attempts, created_at)
      VALUES (${id}, ${this.#module}, ${this.#work}, ${data}, 'waiting', ${at ?? now}, 0, ${now})`)
  }

  /**
   * Keeps one job that is due at the next time of the schedule; without one removes it.
   * @param id for a new job
   */
  *schedule(pattern: string | undefined, next: number, id: string): Transaction<void> {
    if (pattern === undefined) {
      yield* run(sql`DELETE FROM mortise_job WHERE ${this.#mine} AND schedule IS NOT NULL`)
      return
    }
    // Of two hosts that find none, one finds the other's in its next try: transactions are serializable.
    const kept = yield* maybeOne<{ id: string }>(
      sql`SELECT id FROM mortise_job WHERE ${this.#mine} AND schedule IS NOT NULL ORDER BY created_at, id LIMIT 1`,
    )
    if (kept === undefined) {
      yield* run(sql`
        INSERT INTO mortise_job (id, module, work, data, schedule, state, due_at, attempts, created_at)
        VALUES (${id}, ${this.#module}, ${this.#work}, 'null', ${pattern}, 'waiting', ${next}, 0, ${now})`)
      return
    }
    yield* run(sql`
      UPDATE mortise_job SET schedule = ${pattern}, due_at = ${next}
      WHERE id = ${kept.id} AND (schedule <> ${pattern} OR due_at > ${next})`)
    // Earlier hosts give all runs one id, and would keep a job of it beside this one.
    yield* run(sql`
      DELETE FROM mortise_job
      WHERE ${this.#mine} AND schedule IS NOT NULL AND state = 'waiting' AND id <> ${kept.id}`)
    yield* run(sql`
      UPDATE mortise_job SET id = ${id} WHERE id = ${`job_${this.#module}/${this.#work}`} AND state = 'waiting'`)
  }

  /** Selects the `QueueState`. */
  state(): Sql {
    return sql`
      SELECT ${now} AS now, (SELECT min(due_at) FROM mortise_job WHERE ${this.#mine} AND state = 'waiting') - ${now} AS "dueIn",
        EXISTS (SELECT 1 FROM mortise_job WHERE ${this.#isLost}) AS "hasLost"`
  }

  /** Makes the jobs of processes that have died due. */
  *takeOver(): Transaction<void> {
    yield* run(sql`UPDATE mortise_job SET state = 'waiting', due_at = ${now} WHERE ${this.#isLost}`)
  }

  /** For the only process of a database: nobody else is at work. */
  *takeOverFromOthers(holder: string): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_job SET state = 'waiting', due_at = ${now}
      WHERE ${this.#mine} AND state = 'running' AND holder <> ${holder}`)
  }

  /** Makes due what a clock ahead of time has postponed: not the module, by `at`. */
  *makeDue(pauses: readonly number[]): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_job SET due_at = ${now}
      WHERE ${this.#mine} AND state = 'waiting' AND schedule IS NULL AND (holder IS NOT NULL OR due_at = created_at)
        AND ${isPostponed(sql`due_at`, pauses)}`)
  }

  /** @param leases one for each job to lease */
  *lease(holder: string, leases: readonly string[]): Transaction<LeasedJob[]> {
    const due = yield* many<{ id: string }>(sql`
      SELECT id FROM mortise_job WHERE ${this.#mine} AND state = 'waiting' AND due_at <= ${now}
      ORDER BY due_at LIMIT ${leases.length}`)
    const leased: LeasedJob[] = []
    for (const [index, { id }] of due.entries()) {
      const lease = leases[index] as string
      const row = yield* maybeOne<Omit<LeasedJob, 'lease'>>(sql`
        UPDATE mortise_job SET state = 'running', attempts = attempts + 1, holder = ${holder}, lease = ${lease},
          held_until = ${now} + ${this.#term}
        WHERE id = ${id} AND state = 'waiting' RETURNING id, data, attempts`)
      if (row) leased.push({ ...row, lease })
    }
    return leased
  }

  /** Extends leases. Returns those that still hold. */
  *extend(leases: readonly string[]): Transaction<string[]> {
    const kept = yield* many<{ lease: string }>(sql`
      UPDATE mortise_job SET held_until = ${now} + ${this.#term}
      WHERE ${this.#mine} AND state = 'running' AND lease IN (${join(leases.map((lease) => sql`${lease}`))})
      RETURNING lease`)
    return kept.map(({ lease }) => lease)
  }

  /** Ends a job. @returns whether its lease still held */
  end({ id, lease }: LeasedJob): Transaction<number> {
    return run(sql`DELETE FROM mortise_job WHERE ${isHeld(id, lease)}`)
  }

  /** Ends an attempt; the job is due again at `dueAt`. @returns whether its lease still held */
  again(
    { id, lease }: LeasedJob,
    dueAt: number,
    { attempts, error }: { readonly attempts: number; readonly error: string | null },
  ): Transaction<number> {
    return run(sql`
      UPDATE mortise_job SET state = 'waiting', due_at = ${dueAt}, attempts = ${attempts}, error = ${error}
      WHERE ${isHeld(id, lease)}`)
  }

  /** Ends a run of a schedule: the next one is a job of its own. @returns whether its lease still held */
  next(
    { id, lease }: LeasedJob,
    next: { readonly id: string; readonly dueAt: number; readonly error: string | null },
  ): Transaction<number> {
    return run(sql`
      UPDATE mortise_job
      SET id = ${next.id}, state = 'waiting', due_at = ${next.dueAt}, attempts = 0, error = ${next.error}, created_at = ${now}
      WHERE ${isHeld(id, lease)}`)
  }

  /** After the last attempt. @returns whether its lease still held */
  fail({ id, lease }: LeasedJob, error: string): Transaction<number> {
    return run(sql`UPDATE mortise_job SET state = 'failed', error = ${error} WHERE ${isHeld(id, lease)}`)
  }
}

const isHeld = (id: string, lease: string) => sql`id = ${id} AND state = 'running' AND lease = ${lease}`

/** Selects `module` and `failed`, the number of jobs that have failed for the last time. */
export const countFailedJobs = sql`
  SELECT module, count(*) AS failed FROM mortise_job WHERE state = 'failed' GROUP BY module ORDER BY module`

export function readWorks(): Transaction<WorkState[]> {
  const count = (state: FailedJob['state']) => sql`count(CASE state WHEN ${state} THEN 1 END)`
  return many<WorkState>(sql`
    SELECT module, work, ${count('waiting')} AS waiting, ${count('running')} AS running, ${count('failed')} AS failed
    FROM mortise_job GROUP BY module, work ORDER BY module, work`)
}

/** @param limit for failed jobs */
export function* readJobs(limit: number): Transaction<JobsState> {
  const works = yield* readWorks()
  const rows = yield* many<Omit<FailedJob, 'nextAttemptAt'> & { dueAt: number }>(sql`
    SELECT id, module, work, state, attempts, error, due_at AS "dueAt" FROM mortise_job
    WHERE error IS NOT NULL ORDER BY created_at, id LIMIT ${Math.min(limit, MOST_ROWS)}`)
  const failed = rows.map(({ dueAt, ...job }) => {
    return { ...job, nextAttemptAt: job.state === 'failed' ? null : timestamp(dueAt) }
  })
  return { works, failed }
}

/** Makes failed jobs due, with all their attempts. */
export function replayJobs(choice: JobChoice): Transaction<ChosenJob[]> {
  return many<ChosenJob>(sql`
    UPDATE mortise_job SET state = 'waiting', attempts = 0, due_at = ${now}
    WHERE ${failedOnes(choice)} RETURNING id, module, work`)
}

/** Deletes a failed job, unless it belongs to a schedule. */
export function discardJob(choice: JobChoice & { readonly job: string }): Transaction<ChosenJob[]> {
  return many<ChosenJob>(sql`
    DELETE FROM mortise_job WHERE ${failedOnes(choice)} AND schedule IS NULL RETURNING id, module, work`)
}

export function* deleteJobs(module: string): Transaction<void> {
  yield* run(sql`DELETE FROM mortise_job WHERE module = ${module}`)
}

function failedOnes({ job, module }: JobChoice): Sql {
  const ofJob = job === undefined ? sql`` : sql`AND id = ${job}`
  const ofModule = module === undefined ? sql`` : sql`AND module = ${module}`
  return sql`error IS NOT NULL AND state <> 'running' ${ofJob} ${ofModule}`
}
