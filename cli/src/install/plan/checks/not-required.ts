import type { Lock } from '@mortise/host'
import { required } from '../../../failures/index.ts'
import { readInstalled } from '../../../store/installed-packages.ts'
import { missingContracts } from './contracts.ts'

/**
 * Checks that no module that stays active requires a contract of those that go. Only what this makes missing
 * stands in the way, not what was missing before.
 *
 * @param what what is to become of them, for the message
 * @throws {Failure} refused
 */
export async function checkNotRequired(
  directory: string,
  { modules }: Lock,
  going: readonly string[],
  what: 'removed' | 'disabled',
): Promise<void> {
  if (going.length === 0) return
  const before = Object.entries(modules)
  const missingAfter = missingContracts(
    await readable(
      directory,
      before.filter(([id]) => !going.includes(id)),
    ),
  )
  if (missingAfter.length === 0) return
  const missingBefore = missingContracts(await readable(directory, before))
  const caused = missingAfter.find(
    ({ module, contract }) =>
      !missingBefore.some((former) => former.module === module && former.contract === contract),
  )
  if (!caused) return
  throw required({ names: going.join(', '), what, module: caused.module, contract: caused.contract })
}

/** A module whose folder is gone from the store cannot serve, so it requires nothing. */
async function readable(directory: string, entries: [string, Lock['modules'][string]][]) {
  const active = entries.filter(([, { enabled }]) => enabled)
  const read = await Promise.allSettled(active.map(([id, locked]) => readInstalled(id, locked, directory)))
  return read.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
}
