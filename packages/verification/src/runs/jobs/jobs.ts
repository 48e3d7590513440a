import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runJobs } from './run-jobs.ts'

export const jobs: Verification = {
  promise:
    'Each job that a committed change asked for is done, also if hosts are killed. It is done twice only if the host was killed during the first time, and never by two hosts at once.',
  run: (options) =>
    onBothEngines(options, ['jobs acknowledged', 'hosts killed'], (seed, database, folder) =>
      runJobs({ folder, seed, database }),
    ),
}
