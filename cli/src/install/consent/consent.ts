import { type LockedModule, readGenerations } from '@mortise/host'
import { purgeText } from '../../data/purge-modules.ts'
import { confirmSnapshotLoss } from '../../data/restore-snapshot.ts'
import { downgradeRefused } from '../../failures/index.ts'
import { exactSpec } from '../../store/installed-packages.ts'
import { confirm } from '../../terminal/confirm.ts'
import type { Candidate } from '../fetch/candidate.ts'
import type { Input } from '../input.ts'
import { namesOfBreaking } from '../plan/breaking/breaking-change.ts'
import { isNewSource } from '../plan/is-new-source.ts'
import type { Plan } from '../plan/module-plan.ts'
import type { Planned } from '../plan/plan.ts'
import { operatorText } from '../plan/summarize-plan.ts'

// Without a terminal, only what drops data is asked: the operator chose the sources and the version
// ranges, and the plan has been printed.

/** @throws {Failure} if the reply is not yes */
export async function consent(planned: Planned): Promise<void> {
  const { input, previous, external, arriving, restored, rollback, purge } = planned
  const { directory, terminal, dryRun, yes = false } = input
  if (!external && !dryRun) await confirmDowngrades(planned)
  // A restored package was installed here before, or came with `git pull` into a fresh clone.
  const past = external ? [previous] : (await readGenerations(directory)).known.map(({ lock }) => lock)
  const known = past.flatMap(({ modules }) => Object.values(modules))
  const again = restored.flatMap(({ module }) => module ?? [])
  await confirmSources(again, known, input)
  const fresh = arriving.flatMap(({ candidate }) => candidate ?? []).filter((one) => !again.includes(one))
  await confirmSources(fresh, Object.values(previous.modules), input)
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

/** Asks before an installation from a source that neither the index nor a `known` package names. */
async function confirmSources(
  fresh: readonly Candidate[],
  known: readonly LockedModule[],
  { terminal, yes = false }: Input,
): Promise<void> {
  if (yes || !terminal.interactive) return
  const strangers = fresh.filter((one) => isNewSource(one, known))
  if (strangers.length === 0) return
  const names = strangers.map(({ from }) => from).join(' and ')
  terminal.note('A module runs with all the rights of the application.')
  await confirm(terminal, yes, `${names} is a new source. Trust it?`)
}

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
