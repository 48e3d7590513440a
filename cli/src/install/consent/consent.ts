import { readGenerations } from '@mortise/host'
import { purgeText } from '../../data/purge-modules.ts'
import { confirmSnapshotLoss } from '../../data/restore-snapshot.ts'
import { confirm } from '../../terminal/confirm.ts'
import type { Planned } from '../plan/plan.ts'
import { confirmSources } from './confirm-sources.ts'

/** @throws {Failure} if the answer is not yes */
export async function consent(planned: Planned): Promise<void> {
  const { input, previous, fromOutside, arriving, restored, rollback, purge } = planned
  const { directory, terminal, dryRun, yes = false } = input
  // A restored package was installed here before, or came with `git pull` into a fresh clone.
  const past = fromOutside ? [previous] : (await readGenerations(directory)).known.map(({ lock }) => lock)
  const known = past.flatMap(({ modules }) => Object.values(modules))
  const again = restored.flatMap(({ module }) => module ?? [])
  await confirmSources(again, known, terminal, yes)
  const fresh = arriving.flatMap(({ candidate }) => candidate ?? []).filter((one) => !again.includes(one))
  await confirmSources(fresh, Object.values(previous.modules), terminal, yes)
  if (dryRun) return
  if (rollback?.snapshot) await confirmSnapshotLoss(directory, terminal, yes, rollback.snapshot.loss)
  else if (rollback && rollback.migrations.length > 0) await confirm(terminal, yes, 'Undo that?')
  if (purge.drops.length > 0) {
    terminal.note(`Drops ${purgeText(purge)}. The command archives them first.`)
    await confirm(terminal, yes, 'Drop that?')
  }
}
