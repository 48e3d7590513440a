import type { Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'
import {
  type FileRule,
  installScripts,
  irreversibleMigration,
  migrationFiles,
  settingDefaults,
  sharedPackages,
} from './files.ts'
import { growingResponses, growingStatements } from './growth.ts'
import { eventHandlers } from './handlers.ts'
import { foreignIds, foreignRows } from './isolation.ts'
import { connections, environment, imports, leftovers, type ProcessRule, processes } from './process.ts'
import { deletions, keys, readsThatWrite } from './repeats.ts'
import {
  locations,
  misplacedAnswers,
  noResponse,
  responseBodies,
  serverErrors,
  undeclaredStatuses,
} from './responses.ts'
import {
  eventTypes,
  type ModuleRule,
  manifestDiffers,
  money,
  providedContracts,
  requestSchemas,
  responseSchemas,
  serializers,
  summaries,
} from './routes.ts'
import { foreignKeys, migrations } from './tables.ts'

// All rules, in the order in which they are tried.

export const fileRules: readonly FileRule[] = [
  migrationFiles,
  irreversibleMigration,
  settingDefaults,
  installScripts,
  sharedPackages,
]

export const moduleRules: readonly ModuleRule[] = [
  manifestDiffers,
  providedContracts,
  eventTypes,
  summaries,
  requestSchemas,
  responseSchemas,
  money,
  serializers,
]

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

/** On one engine: what they find does not depend on it, and they send hundreds of requests. */
export const growthRules: readonly Rule<World>[] = [growingStatements, growingResponses]

/** They judge all responses so far. */
export const responseRules: readonly Rule<World>[] = [
  serverErrors,
  noResponse,
  undeclaredStatuses,
  responseBodies,
  misplacedAnswers,
  locations,
]

export const endingRules: readonly Rule<World>[] = [migrations]

export const processRules: readonly ProcessRule[] = [connections, processes, environment, imports, leftovers]

/** What the rules are called, what they find and how to mend it. */
export const rules: readonly Pick<Rule<never>, 'code' | 'finds' | 'mend'>[] = [
  ...fileRules,
  ...moduleRules,
  ...servingRules,
  ...growthRules,
  ...responseRules,
  ...endingRules,
  ...processRules,
]
