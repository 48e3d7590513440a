import { LARGE, sizeOf } from '../../store/format-bytes.ts'
import { changeText } from './breaking/table-changes.ts'
import { dependencyLines, notesOf } from './dependency-changes.ts'
import { listed } from './listed.ts'
import type { Plan } from './module-plan.ts'

/**
 * A plan in short: what comes, what breaks, what changes, what the operator agrees to, and how to go
 * back. `--verbose` prints all of it instead.
 */
export function summarizePlan(plan: Plan): string {
  const isNew = plan.replaces === null
  return listed(`${titleOf(plan)}, from ${plan.origin}`, [
    ['breaking', breakingLines(plan)],
    ['changes', [changesOf(plan).join('; ') || 'no route, table, migration or dependency']],
    ['asks for', askedBy(plan)],
    ['to go back', [isNew ? `app module-remove ${plan.id} (its data stay)` : wayBack(plan)]],
  ])
}

/** A package that is fetched again for the store. */
export const restoredText = (plan: Plan): string =>
  listed(`${titleOf(plan)}, again from ${plan.origin}`, [
    ['routes', [plan.routes.join(', ') || 'none']],
    ['asks for', askedBy(plan)],
    ['integrity', [plan.integrity]],
  ])

/** For a module whose newer version was removed. */
export const olderText = ({ downgradeFrom }: Plan) =>
  `${downgradeFrom} was installed here, and its migrations stay in the database`

/** `hello 1.1.0 (instead of 1.0.0)` */
export function titleOf({ id, version, replaces, isOlder }: Plan): string {
  const older = isOlder ? ', which is newer: its tables stay' : ''
  return `${id} ${version}${replaces === null ? '' : ` (instead of ${replaces}${older})`}`
}

/** For a module whose manifest has `"operator": true`. */
export const operatorText =
  'the right to operate this application: to install and remove modules, change settings, and call every route as any user'

function breakingLines({ breaking, replaces }: Plan): string[] {
  if (breaking.length > 0) return breaking.map(({ message }) => message)
  return [replaces === null ? 'nothing: no version of it is installed' : 'nothing in its files']
}

function changesOf(plan: Plan): string[] {
  const { replaces, newRoutes, lostRoutes, migrations, schema, schemaChanges } = plan
  const isNew = replaces === null
  const added = migrations.filter(({ isNew }) => isNew).map(({ file }) => file)
  const tables = isNew ? schema.map(({ name }) => name) : schemaChanges.map(changeText)
  const [dependencies = ''] = dependencyLines(plan, !isNew)
  const changed = plan.dependencies.some(({ change }) => change !== null)
  return [
    ...(newRoutes.length > 0 ? [`+ ${newRoutes.join(', ')}`] : []),
    ...(lostRoutes.length > 0 ? [`- ${lostRoutes.join(', ')}`] : []),
    ...(added.length > 0
      ? [`new ${added.length === 1 ? 'migration' : 'migrations'} ${added.join(', ')}`]
      : []),
    ...(tables.length > 0 ? [isNew ? `tables ${tables.join(', ')}` : tables.join(', ')] : []),
    ...(changed || plan.removedDependencies.length > 0 ? [`depends on ${dependencies}`] : []),
  ]
}

/** What the operator agrees to. A fact has a line of its own, so that none is missed. */
function askedBy(plan: Plan): string[] {
  const { isNewSource, network, isLarge, bytes, replacesContent, isOlder, replaces, version, downgradeFrom } =
    plan
  const inside = plan.dependencies.flatMap((one) =>
    notesOf(one).map((note) => `${one.name} ${one.version}: ${note}`),
  )
  const facts = [
    ...(isNewSource ? ['trust in a new source: a module has all the rights of the application'] : []),
    ...(isOlder ? [`a downgrade from ${replaces}`] : []),
    ...(replaces === null && downgradeFrom !== null ? [`a downgrade: ${olderText(plan)}`] : []),
    ...(replacesContent === null ? [] : [`other content than the previous ${version}: raise the version`]),
    ...(plan.operator ? [operatorText] : []),
    ...(network.length > 0 ? [`connections to ${network.join(', ')}`] : []),
    ...notesOf(plan),
    ...inside,
    ...(isLarge ? [`room: ${sizeOf(bytes)}, more than ${sizeOf(LARGE)}, in each bundle too`] : []),
  ]
  return facts.length > 0 ? facts : ['nothing']
}

function wayBack({ migrations }: Plan): string {
  const added = migrations.filter(({ isNew }) => isNew)
  const stuck = added.filter(({ reversible }) => !reversible).map(({ file }) => file)
  if (stuck.length > 0) {
    return `${stuck.join(', ')} cannot be undone: the snapshot or a backup, without the writes since then`
  }
  const undone = added.map(({ file }) => file)
  return `app module-rollback${undone.length > 0 ? ` (undoes ${undone.join(', ')})` : ''}`
}
