import { decisionOf, isLoaded, type LockFile } from '@mortise/application'
import { required } from '../../../failures/index.ts'
import { readInstalled } from '../../../store/installed-packages.ts'
import { missingContracts } from './contracts.ts'

/**
 * Checks that no active module requires a contract of the modules that leave. Contracts that were
 * missing before do not count.
 * @param what the change of these modules, for the message
 * @throws {Failure} refused
 */
export async function checkNotRequired(
  directory: string,
  { modules }: LockFile,
  going: readonly string[],
  what: 'removed' | 'disabled',
): Promise<void> {
  if (going.length === 0) return
  const before = Object.entries(modules)
  const staying = before.filter(([id]) => !going.includes(id))
  const missingAfter = missingContracts(await readActive(directory, staying))
  if (missingAfter.length === 0) return
  const missingBefore = missingContracts(await readActive(directory, before))
  const caused = missingAfter.find(
    ({ module, contract }) =>
      !missingBefore.some((previous) => previous.module === module && previous.contract === contract),
  )
  if (!caused) return
  throw required({ names: going.join(', '), what, module: caused.module, contract: caused.contract })
}

/** A module whose folder is missing from the store cannot serve, so it requires nothing. */
export async function readActive(
  directory: string,
  entries: readonly (readonly [string, LockFile['modules'][string]])[],
) {
  const active = entries.filter(([, locked]) => isLoaded(decisionOf(locked)))
  const read = await Promise.allSettled(active.map(([id, locked]) => readInstalled(id, locked, directory)))
  return read.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
}
