import type { Generation } from '@mortise/application'
import { callRunningHost, hostLabel, runWithoutHost } from '@mortise/host'
import type { AppliedMigration } from '@mortise/storage'
import { changesBetween } from '../../changes/changes-between.ts'
import { isSame } from '../../changes/current-generation.ts'
import { assertArchivable } from '../../data/archives.ts'
import {
  findSnapshot,
  planSnapshot,
  type SnapshotPlan,
  withoutSnapshot,
} from '../../data/restore-snapshot.ts'
import { type Failure, irreversible, newerHostServes } from '../../failures/index.ts'
import {
  isOfHost,
  lockMigrationNames,
  type MigrationNames,
  migrationsAfter,
  readLedger,
} from '../../store/applied-migrations.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { makeStaging } from '../../store/staging.ts'
import type { Verified } from '../verify/verify.ts'
import { planUndo, type RollbackPlan } from './plan-rollback-drops.ts'
import { rollbackText } from './print-plan.ts'

export interface Rollback {
  /** The generation whose modules are installed again. */
  readonly to: number
  readonly plan: RollbackPlan
  /** The migrations to undo. */
  readonly migrations: readonly AppliedMigration[]
  /** The snapshot to restore instead. */
  readonly snapshot?: SnapshotPlan
}

/**
 * Plans the rollback to a previous generation. It undoes the migrations that later changes applied
 * and the generation's packages lack, with the down migrations in the ledger, so it needs no module code. Data of
 * modules outside that generation stay, as after a removal.
 * @throws {Failure} if a migration in between cannot be undone (4)
 */
export async function planRollback({ input, previous, target, back, staging }: Verified): Promise<Rollback> {
  const { directory, terminal, dryRun } = input
  const generation = back as Generation
  const to = generation.generation
  const changes = changesBetween(previous, target).map(({ text }) => text)
  const nothing = { to, plan: { changes, undo: [], drops: [] }, migrations: [] }
  if (isSame(target, previous)) return nothing
  const names = await lockMigrationNames(directory, target)
  const undo = migrationsAfter(names, await readLedger(directory), generation)
  if (input.kind === 'rollback' && input.withSnapshot) {
    if (undo.length === 0) {
      const modules = Object.keys(target.modules).filter((id) => lockedModule(previous, id) === undefined)
      const reason = 'no change since then migrated the database'
      throw await withoutSnapshot(directory, { generation: to, reason, modules })
    }
    const snapshot = await planSnapshot(directory, names, generation)
    if (dryRun) terminal.note(snapshot.loss)
    return { ...nothing, snapshot }
  }
  const stuck = undo.find(({ down }) => down === null)
  if (stuck) throw await notReversible(directory, generation, stuck, names)
  if (undo.some(isOfHost)) await assertStopped(directory, to)
  const migrations = undo.map(({ module, name }) => ({ module, name }))
  const drops = await planUndo(directory, migrations, await makeStaging(staging))
  const plan = { changes, undo: migrations.map(({ module, name }) => `${module}/${name}`), drops }
  if (!dryRun) {
    terminal.note(rollbackText(to, plan))
    if (undo.length > 0) await assertArchivable(directory, 'undone')
  }
  return { to, plan, migrations }
}

async function notReversible(
  directory: string,
  to: Generation,
  { module, name: migration }: AppliedMigration,
  names: MigrationNames,
): Promise<Failure> {
  // An unreadable snapshot is not offered.
  const snapshot = await findSnapshot(directory, names, to).catch(() => undefined)
  const stuck = { generation: to.generation, migration, module }
  return snapshot === undefined
    ? irreversible({ hint: 'backup', ...stuck })
    : irreversible({ hint: 'snapshot', ...stuck, at: snapshot.at })
}

/** A running host, or another host of the database, needs its own tables. */
async function assertStopped(directory: string, to: number): Promise<void> {
  const isRunning = (await callRunningHost(directory, 'state')) !== undefined
  const others = isRunning ? [] : (await runWithoutHost(directory, 'hosts')).others.map(hostLabel)
  if (!isRunning && others.length === 0) return
  const who = isRunning ? 'the running one' : others.join(', ')
  throw newerHostServes({ generation: to, hosts: who })
}
