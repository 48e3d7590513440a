import { readConfig, readLock } from '@mortise/host'
import { Failure } from '../../terminal/failure.ts'
import { resolveSpec } from './source.ts'

/**
 * Nothing has to be resolved: the application has a lock, and it names everything that is asked for.
 * @throws {Failure} `frozen`
 */
export async function checkFrozen(directory: string, specs: readonly string[]): Promise<void> {
  const lock = await readLock(directory)
  const { aliases } = await readConfig(directory)
  const lookup = { directory, cwd: process.cwd(), lock, aliases }
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
