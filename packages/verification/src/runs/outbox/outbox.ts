import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runOutbox } from './run-outbox.ts'

export const outbox: Verification = {
  promise:
    'Every committed change has its event, no other change has one, and a module handles each event once and in order.',
  run: (options) =>
    onBothEngines(options, ['hosts killed', 'transactions rolled back'], async (seed, database, folder) => {
      const report = await runOutbox({ folder, transactions: 300, seed, database, killWithin: 150 })
      const { acknowledged, failed, kills, events, failures } = report
      return {
        figures: {
          'transactions acknowledged': acknowledged,
          'transactions rolled back': failed,
          events,
          'hosts killed': kills,
        },
        failures,
      }
    }),
}
