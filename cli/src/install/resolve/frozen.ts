import { Failure } from '../../failures/index.ts'
import { type Lookup, resolveSpec } from './source.ts'

/**
 * Nothing has to be resolved: the application has a lock, and it names everything that is asked for.
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
