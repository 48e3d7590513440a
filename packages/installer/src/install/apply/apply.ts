import { decide } from '@mortise/application'
import { isSame } from '../../changes/current-generation.ts'
import { type Purged, purgeModules } from '../../data/purge-modules.ts'
import { type RestoredSnapshot, restoreSnapshot } from '../../data/restore-snapshot.ts'
import { type Failure, failureOf } from '../../failures/index.ts'
import { asFailure } from '../../reporting/explain.ts'
import { moveToStore } from '../../store/staging.ts'
import { restorePackages } from '../fetch/restore-store.ts'
import { lockedAs } from '../fetch/stage-package.ts'
import type { Probed } from '../probe/probe.ts'
import { activateRestored } from './activate.ts'
import { applyChange, applyExternalChange, type Switched } from './apply-change.ts'

/** The result of a change; empty after a dry run. */
export interface Applied extends Probed {
  /** Undefined if there was nothing to switch to. */
  readonly switched: Switched | undefined
  readonly purged: readonly Purged[]
  /** The snapshot that was restored instead of a switch. */
  readonly snapshot?: RestoredSnapshot
}

export const nothingApplied = { switched: undefined, purged: [] }

/** @throws {Failure} the previous generation stays, or is again, current */
export async function apply(probed: Probed): Promise<Applied> {
  const { input, target, arriving, arrivingHost, restored, failures, rollback } = probed
  const { directory, command, terminal } = input
  await restorePackages(directory, restored)
  if (failures.length > 0) throw failures[0]
  for (const { candidate, locked } of arriving)
    if (candidate) await moveToStore(directory, locked, candidate.package.directory)
  if (arrivingHost) await moveToStore(directory, lockedAs(arrivingHost), arrivingHost.package.directory)
  if (rollback?.snapshot) {
    const snapshot = await restoreSnapshot(directory, command, target, rollback.snapshot)
    return { ...probed, ...nothingApplied, generation: snapshot.generation, snapshot }
  }
  const switched = await terminal.during('Switching', () => switchTo(probed))
  try {
    const { modules } = probed.purge
    const purged = modules.length > 0 ? await purgeModules(directory, modules) : []
    return { ...probed, switched, generation: switched?.generation ?? probed.generation, purged }
  } catch (error) {
    throw notPurged(probed.changed, error)
  }
}

async function switchTo(probed: Probed): Promise<Switched | undefined> {
  const { input, previous, target, external, arriving, arrivingHost, leaving, missing, rollback } = probed
  const { directory, command } = input
  if (external) return await applyExternalChange(directory, command, target)
  if (arriving.length === 0 && !arrivingHost && isSame(target, previous)) {
    const live = await activateRestored(directory, missing)
    return live === undefined ? undefined : { generation: probed.generation, live, migrations: [] }
  }
  const off = leaving.flatMap((id) => {
    const locked = target.modules[id]
    return locked ? [[id, decide(locked, { state: 'disabled' })]] : []
  })
  const young = arriving.flatMap(({ candidate }) => candidate?.ages?.young ?? [])
  const allowedNew = young.map((one) => `${one.package} ${one.version}, published ${one.published}`)
  return await applyChange({
    ...{ directory, command, previous, anyLock: input.kind === 'rollback' },
    modules: { ...target.modules, ...Object.fromEntries(off) },
    host: target.host ?? null,
    undo: rollback?.migrations ?? [],
    ...(allowedNew.length > 0 && { details: { allowedNew } }),
  })
}

/** A failure that appears only after the removal. */
function notPurged(removed: readonly string[], error: unknown): Failure {
  const { exitCode, code, message } = asFailure(error)
  const which = removed.length === 0 ? 'The data' : `Removed ${removed.join(', ')}. The data`
  return failureOf({
    exitCode,
    code,
    message: `${which} were not dropped: ${message}`,
    hint: 'The other tables did not change. Correct the cause, then run the command again: it continues where this one stopped.',
  })
}
