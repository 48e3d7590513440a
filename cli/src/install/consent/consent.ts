import { readGenerations } from '@mortise/host'
import { purgeText } from '../../data/purge-modules.ts'
import { agreeToLoss } from '../../data/restore-snapshot.ts'
import { confirmDataLoss } from '../../terminal/confirm-data-loss.ts'
import type { Planned } from '../plan/plan.ts'
import { confirmSources } from './confirm-sources.ts'

/**
 * Asks about new sources and lost data.
 * @throws {Failure} if the answer is not yes
 */
export async function consent(planned: Planned): Promise<void> {
  const { input, former, fromOutside, arriving, restored, wayBack, purge } = planned
  const { directory, terminal, yes = false } = input
  // A restored package was installed here before, or came with `git pull` into a fresh clone.
  const past = fromOutside ? [former] : (await readGenerations(directory)).known.map(({ lock }) => lock)
  const known = past.flatMap(({ modules }) => Object.values(modules))
  const again = restored.flatMap(({ module }) => module ?? [])
  await confirmSources(again, known, terminal, yes)
  const fresh = arriving.flatMap(({ candidate }) => candidate ?? []).filter((one) => !again.includes(one))
  await confirmSources(fresh, Object.values(former.modules), terminal, yes)
  if (wayBack?.snapshot) await agreeToLoss(directory, terminal, yes, wayBack.snapshot.loss)
  else if (wayBack && wayBack.migrations.length > 0) await confirmDataLoss(terminal, yes, 'Undo that?')
  if (purge.drops.length > 0) {
    terminal.note(`Drops ${purgeText(purge)}. An archive of them precedes it.`)
    await confirmDataLoss(terminal, yes, 'Drop that?')
  }
}
