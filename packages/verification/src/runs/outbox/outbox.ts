import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runOutbox } from './run-outbox.ts'

export const outbox: Verification = {
  promise:
    'Every committed change has its event, no other change has one, and a module handles each event once and in order.',
  run: (options) =>
    onBothEngines(options, ['hosts killed', 'transactions rolled back'], (seed, database, folder) =>
      runOutbox({ folder, seed, database }),
    ),
}
