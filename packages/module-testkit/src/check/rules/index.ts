import type { Rule } from '../world/finding.ts'
import type { WatchedModule } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'
import { foreignCounts } from './aggregates.ts'
import { massAssignment } from './assignment.ts'
import { endlessWork, jobsWithoutId } from './background.ts'
import { claims } from './claims.ts'
import { unboundedConditions } from './conditions.ts'
import { effects } from './effects.ts'
import { fileRules } from './files.ts'
import { growthRules } from './growth.ts'
import { eventHandlers } from './handlers.ts'
import { inputRules } from './inputs.ts'
import { foreignIds, foreignRows } from './isolation.ts'
import { longReads } from './long-reads.ts'
import { lostUpdates } from './lost-updates.ts'
import { slowPatterns } from './patterns.ts'
import { planRules } from './plans.ts'
import { processRules as seenRules } from './process.ts'
import { deletions, keys, readsThatWrite } from './repeats.ts'
import { responseRules as ownResponseRules } from './responses.ts'
import { moduleRules as routeRules } from './routes.ts'
import { exposedSecrets, openSecrets } from './settings.ts'
import { foreignKeys, lossyMigrations, migrations } from './tables.ts'
import { versions } from './versions.ts'

export { fileRules }

export const moduleRules: readonly Rule<WatchedModule>[] = [...routeRules, openSecrets, slowPatterns]

/** They send requests. The ones that change most come last. */
export const servingRules: readonly Rule<World>[] = [
  foreignKeys,
  readsThatWrite,
  foreignIds,
  foreignRows,
  keys,
  deletions,
  eventHandlers,
]

/** On one engine, since what they find does not depend on it; they send hundreds of requests. */
export const onceRules: readonly Rule<World>[] = [
  massAssignment,
  ...inputRules,
  foreignCounts,
  versions,
  ...growthRules,
  unboundedConditions,
  ...planRules,
  longReads,
  endlessWork,
  claims,
  jobsWithoutId,
]

export const responseRules: readonly Rule<World>[] = [...ownResponseRules, lostUpdates, exposedSecrets]

export const endingRules: readonly Rule<World>[] = [migrations, lossyMigrations]

export const processRules: readonly Rule<WatchedModule>[] = [...seenRules, effects]

/** All rules, in the order in which they are tried. */
export const rules: readonly Pick<Rule<never>, 'code' | 'finds' | 'remedy'>[] = [
  ...fileRules,
  ...moduleRules,
  ...servingRules,
  ...onceRules,
  ...responseRules,
  ...endingRules,
  ...processRules,
]
