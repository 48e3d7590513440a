import { Failure } from '../../failures/index.ts'
import { type Lookup, resolveSpec } from './source.ts'

/**
 * Checks that nothing has to be resolved: the lock file exists and names everything requested.
 * @throws {Failure} `frozen`
 */
export function checkFrozen(specs: readonly string[], lookup: Lookup): void {
  const other = specs.find((spec) => !('installed' in resolveSpec(spec, lookup)))
  if (other !== undefined) throw frozen(`modules.lock.json does not name "${other}"`)
}

function frozen(reason: string): Failure {
  return new Failure(
    'refused',
    'frozen',
    `Nothing was installed: ${reason}, and --frozen installs exactly what it names.`,
    'Install it where the lock may change, commit modules.lock.json, then try again.',
  )
}
