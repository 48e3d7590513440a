import type { Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'
import { fileRules } from './files.ts'
import { growthRules } from './growth.ts'
import { eventHandlers } from './handlers.ts'
import { foreignIds, foreignRows } from './isolation.ts'
import { processRules } from './process.ts'
import { deletions, keys, readsThatWrite } from './repeats.ts'
import { responseRules } from './responses.ts'
import { moduleRules } from './routes.ts'
import { foreignKeys, migrations } from './tables.ts'

export { fileRules, growthRules, moduleRules, processRules, responseRules }

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

export const endingRules: readonly Rule<World>[] = [migrations]

/** All rules, in the order in which they are tried. */
export const rules: readonly Pick<Rule<never>, 'code' | 'finds' | 'mend'>[] = [
  ...fileRules,
  ...moduleRules,
  ...servingRules,
  ...growthRules,
  ...responseRules,
  ...endingRules,
  ...processRules,
]
