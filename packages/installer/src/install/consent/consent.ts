import { purgeText } from '../../data/purge-modules.ts'
import { confirmSnapshotLoss } from '../../data/restore-snapshot.ts'
import { downgradeRefused } from '../../failures/index.ts'
import { askForSources } from '../../reporting/ask-for-sources.ts'
import { confirm } from '../../reporting/confirm.ts'
import { exactSpec } from '../../store/installed-packages.ts'
import type { Input } from '../input.ts'
import { namesOfBreaking } from '../plan/breaking/breaking-change.ts'
import type { Plan } from '../plan/module-plan.ts'
import type { Planned } from '../plan/plan.ts'
import { operatorText } from '../plan/summarize-plan.ts'

// Nothing of a package has run before. A dry run only asks what allows its probe.

/** @throws {Failure} if the reply is not yes, or a new source needs one and nobody can reply */
export async function consent(planned: Planned): Promise<void> {
  const { input, external, rollback, purge } = planned
  const { directory, terminal, dryRun, yes = false } = input
  if (!external && !dryRun) await confirmDowngrades(planned)
  await confirmSources(planned)
  await confirmBuilders(planned.plans, input)
  await confirmOperator(planned.plans, input)
  if (dryRun) return
  if (rollback?.snapshot) await confirmSnapshotLoss(directory, terminal, yes, rollback.snapshot.loss)
  else if (rollback && rollback.migrations.length > 0) await confirm(terminal, yes, 'Undo that?')
  if (purge.drops.length > 0) {
    terminal.note(`Drops ${purgeText(purge)}. The command archives them first.`)
    await confirm(terminal, yes, 'Drop that?')
  }
}

/**
 * Asks before a version that is older than the migrations in the database. Without a terminal, it
 * is refused unless the operator chose the version.
 */
async function confirmDowngrades({ input, plans, downgrades }: Planned): Promise<void> {
  const { terminal, yes = false } = input
  const older = plans.filter(({ downgradeFrom }) => downgradeFrom !== null)
  if (yes || older.length === 0) return
  if (terminal.interactive) {
    const texts = older.map(
      ({ id, version, downgradeFrom }) => `${id} ${version} is older than ${downgradeFrom}`,
    )
    return await confirm(terminal, yes, `${texts.join(' and ')}, which was here. Install the older version?`)
  }
  const unchosen = downgrades.find(({ isChosen }) => !isChosen)
  const plan = older.find(({ id }) => id === unchosen?.id)
  if (!unchosen || !plan) return
  const { id, version } = plan
  const { known } = unchosen
  const spec = exactSpec(known, input.directory)
  throw downgradeRefused({ id, version, known: known.version, spec })
}

/**
 * Asks before code of a new source runs. Without a terminal it is refused, unless modules.lock.json
 * names the package with its hash: the one who put it there has agreed.
 */
async function confirmSources({ input, newSources, external }: Planned): Promise<void> {
  await askForSources(newSources, input, external || input.dryRun ? undefined : 'package')
}

/** Whether code may run now. Without a terminal nobody has been asked, and a dry run is for reading. */
export const mayRun = ({ input, newSources, plans }: Planned): boolean =>
  !input.dryRun ||
  input.yes === true ||
  input.terminal.interactive ||
  (newSources.length === 0 && plans.every(({ provenanceChange }) => provenanceChange === null))

/** Asks if a package was built from another repository, or by another workflow, than the version before. */
export async function confirmBuilders(
  plans: readonly Pick<Plan, 'id' | 'version' | 'provenanceChange'>[],
  { terminal, yes = false }: Pick<Input, 'terminal' | 'yes'>,
): Promise<void> {
  const changed = plans.filter(({ provenanceChange }) => provenanceChange !== null)
  if (changed.length === 0) return
  const names = changed.map(({ id, version }) => `${id} ${version}`).join(' and ')
  await confirm(terminal, yes, `${names} comes from another repository or workflow. Trust it?`)
}

/** Asks before a module may run commands and act as any user. */
async function confirmOperator(plans: readonly Plan[], { terminal, yes = false }: Input): Promise<void> {
  const next = plans.find(({ becomesOperator }) => becomesOperator)
  if (next !== undefined) await confirm(terminal, yes, `${next.id} asks for ${operatorText}. Allow that?`)
}

/** Asks before breaking changes, also those that only the probe finds. */
export async function confirmBreaking(
  plans: readonly Plan[],
  { terminal, yes = false }: Input,
): Promise<void> {
  const names = namesOfBreaking(plans)
  if (names === '') return
  if (yes || !terminal.interactive)
    return terminal.note(`Installing ${names} in spite of the breaking changes above.`)
  await confirm(terminal, yes, `${names} has the breaking changes above. Install anyway?`)
}
