import { sql } from '@mortise/module-sdk'
import type { AppliedMigration } from '@mortise/storage'

/** Selects `module` and `dead`, the number of dead letters, for modules that have any. */
export const countDeadLetters = sql`
  SELECT subscription AS module, count(*) AS dead FROM mortise_reaction WHERE state = 'dead'
  GROUP BY subscription ORDER BY subscription`

/** False for a database migrated by an older host, or not at all. */
export const hasFailedEventTable = (applied: readonly AppliedMigration[]) =>
  applied.some(({ module, name }) => module === 'host' && name === '009-reaction')
