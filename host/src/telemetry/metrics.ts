import type { StorageObserver } from '@mortise/storage'
import { Histogram } from './histogram.ts'
import { counter, type MetricFamily } from './metric-family.ts'
import { RequestDurations } from './request-durations.ts'

/** In seconds: a commit is one wait for the disk. */
const COMMIT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const GROUP_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128]

/** What is counted while it happens. It belongs to the process, and outlives generations. */
export class Metrics implements StorageObserver {
  readonly requests = new RequestDurations()
  readonly #groups = new Histogram(GROUP_BOUNDS)
  readonly #commits = new Histogram(COMMIT_BOUNDS)
  #retries = 0

  committed(transactions: number, milliseconds: number): void {
    this.#groups.observe(transactions)
    this.#commits.observe(milliseconds / 1000)
  }

  retried(): void {
    this.#retries += 1
  }

  families(): MetricFamily[] {
    return [
      this.requests.family(),
      {
        name: 'mortise_commit_transactions',
        help: 'How many transactions a commit of SQLite had',
        type: 'histogram',
        merge: 'sum',
        samples: this.#groups.samples(),
      },
      {
        name: 'mortise_commit_duration_seconds',
        help: 'How long commits of SQLite took',
        type: 'histogram',
        merge: 'sum',
        samples: this.#commits.samples(),
      },
      counter(
        'mortise_database_retries_total',
        'Work that PostgreSQL was given again, since it met others',
        this.#retries,
      ),
    ]
  }
}
