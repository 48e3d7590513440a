import type { ApplicationState } from '@mortise/host'
import { retainedPackages } from '../store/installed-state.ts'
import type { FixableFinding } from './finding.ts'

/** From this number of packages on, report them. */
const MANY = 20
/** The memory of a replaced package, in MB, as measured (api-cart 0.08, api-purchase 0.11). */
const MEGABYTES = 0.1

export function retainedCode(state: ApplicationState): FixableFinding[] {
  const packages = retainedPackages(state)
  if (packages < MANY) return []
  return [
    {
      id: 'code-retained',
      severity: 'info',
      message: `The running host keeps the code of ${packages} replaced packages in memory, about ${Math.round(packages * MEGABYTES)} MB, more with large dependencies.`,
      hint: 'Only a restart frees that memory.',
      packages,
    },
  ]
}
