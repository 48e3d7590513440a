import { sql } from '@mortise/module-sdk'
import type { AppliedMigration } from '@mortise/storage'

/** Answers `module` and `dead` of the modules that have any. */
export const deadLetters = sql`
  SELECT subscription AS module, count(*) AS dead FROM mortise_reaction WHERE state = 'dead'
  GROUP BY subscription ORDER BY subscription`

/** False where an older host has migrated the database, or none. */
export const hasFailedEventTable = (applied: readonly AppliedMigration[]) =>
  applied.some(({ module, name }) => module === 'host' && name === '009-reaction')
