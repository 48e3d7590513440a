import { createHash } from 'node:crypto'
import { decisionOf, type LockFile } from '@mortise/application'
import { planChanged } from '../../failures/index.ts'
import type { Planned } from '../plan/plan.ts'

export const planOptions = [
  [
    '--dry-run',
    'print the plan, check and probe as the change does, and change nothing; of a new source no code runs without --yes',
  ],
  ['--plan <digest>', 'refuse any other plan than that of --dry-run --json with this digest (exit code 4)'],
] as const

/** Names what a change does: from which packages to which, what is dropped and undone. */
export function digestOf({ input, previous, target, restored, leaving, rollback, purge }: Planned): string {
  const { kind } = input
  const effect = {
    ...{ kind, from: packagesOf(previous), to: packagesOf(target), leaving, purge: purge.modules },
    ...(kind === 'pause' && { name: input.name, seconds: input.seconds ?? null }),
    restored: restored.map(({ name }) => name),
    rollback: rollback && [rollback.to, rollback.plan.undo, rollback.snapshot?.snapshot.at ?? null],
  }
  return createHash('sha256').update(JSON.stringify(effect)).digest('hex')
}

/** A pause ends at a time that differs from one run to the next. */
const packagesOf = ({ host, modules }: LockFile) => [
  host?.tree ?? null,
  ...Object.entries(modules).map(([id, locked]) => [id, locked.tree, decisionOf(locked).state]),
]

/** @throws {Failure} `plan-changed` */
export function assertPlanned(planned: Planned): void {
  const { plan } = planned.input
  if (plan !== undefined && plan !== digestOf(planned)) throw planChanged()
}
