import type { ModulePackage } from '@mortise/application'
import type { Reporter } from '../../reporting/reporter.ts'
import { LARGE, sizeOf } from '../../store/format-bytes.ts'
import type { Restorable } from '../fetch/restore-store.ts'
import type { BreakingChange } from './breaking/breaking-change.ts'
import { changeText, described } from './breaking/table-changes.ts'
import { dependencyLines, licenseText, notesOf } from './dependency-changes.ts'
import type { HostPlan } from './host-plan.ts'
import { listed } from './listed.ts'
import type { Plan } from './module-plan.ts'
import { dropText, type RollbackPlan } from './plan-rollback-drops.ts'
import { olderText, operatorText, titleOf } from './summarize-plan.ts'

/** All of a plan. */
export function planText(plan: Plan): string {
  const contracts = (contracts: Readonly<Record<string, string>>) =>
    Object.entries(contracts).map(([contract, version]) => `${contract} ${version}`)
  const { access, signed } = plan
  return listed(titleOf(plan), [
    ['breaking', plan.breaking.map(({ message }) => message)],
    [
      'content',
      plan.replacesContent === null
        ? []
        : [`differs from the previous ${plan.version} (${plan.replacesContent}): raise the version`],
    ],
    ['older', plan.replaces === null && plan.downgradeFrom !== null ? [olderText(plan)] : []],
    ['routes', access === null ? plan.routes : accessRows(access)],
    ['tables', plan.tables === null ? [] : [`${plan.tables}, ${plan.tables}_*`]],
    ['', plan.schema.map((table) => `${table.name} ${described(table)}`)],
    ['changes', plan.schemaChanges.map(changeText)],
    [
      'migrations',
      plan.migrations.map(
        ({ file, reversible, isNew }) =>
          `${isNew && plan.replaces !== null ? '+ ' : ''}${file}${reversible ? '' : ' (cannot be undone)'}`,
      ),
    ],
    ['settings', plan.settings],
    ['events', plan.events],
    ['listens to', plan.listensTo.map((type) => (type === '*' ? 'all events' : type))],
    ['provides', contracts(plan.provides)],
    ['requires', contracts(plan.requires)],
    ['uses', contracts(plan.optional)],
    ['network', plan.network],
    ['operates', plan.operator ? [operatorText] : []],
    [
      'peers',
      plan.peers.map(({ name, range, provided }) => `${name} ${range} (provided: ${provided ?? 'no'})`),
    ],
    ['license', [licenseText(plan.license)]],
    ['note', notesOf(plan)],
    ['depends on', dependencyLines(plan, plan.replaces !== null)],
    ['origin', [plan.origin]],
    ['size', sizeLines(plan)],
    ['integrity', [plan.integrity]],
    ['tree', [plan.tree]],
    [
      'signed',
      signed ? [`by ${signed.keyid}, provenance ${signed.provenance ? 'verified' : 'none'}`] : ['no'],
    ],
  ])
}

function sizeLines({ files, bytes, ownBytes, isLarge, dependencies }: Plan): string[] {
  const own = dependencies.length > 0 ? `; ${sizeOf(ownBytes)} without dependencies` : ''
  const large = `large: more than ${sizeOf(LARGE)}, in each bundle too`
  return [`${files} files, ${sizeOf(bytes)}${own}`, ...(isLarge ? [large] : [])]
}

/** What loading a module adds to its plan. */
export function probedText(
  { id, version, access }: Plan,
  breaking: readonly BreakingChange[],
  isVerbose: boolean,
): string {
  return listed(`${id} ${version} after loading`, [
    ['breaking', breaking.map(({ message }) => message)],
    ['access', isVerbose ? accessRows(access ?? {}) : []],
  ])
}

const accessRows = (access: Readonly<Record<string, string>>) =>
  Object.entries(access).map(([route, who]) => `${route} (${who})`)

export function hostPlanText(
  { from, to, isOlder, inRange, outside, ...plan }: HostPlan,
  isVerbose: boolean,
): string {
  const changed = plan.dependencies.filter(({ change }) => change !== null).length
  return listed(`host ${from} → ${to}${isOlder ? ', which is older' : ''}`, [
    ...outside.map(({ id, version, needs }) => ['not', [`${id} ${version}: needs ${needs}`]] as const),
    ['runs', inRange.length > 0 ? [inRange.join(', ')] : []],
    ['depends on', dependencyLines(plan, plan.removedDependencies.length + changed > 0, true)],
    ['origin', [plan.origin]],
    ['to go back', ['app module-rollback, then restart the host']],
    ['size', isVerbose ? [`${plan.files} files, ${sizeOf(plan.bytes)}`] : []],
    ['integrity', isVerbose ? [plan.integrity] : []],
  ])
}

/** A host that was fetched again, for people. */
export function restoredHostText(
  version: string,
  { from, files, bytes, integrity, tree }: NonNullable<Restorable['host']>,
): string {
  return listed(`host ${version}`, [
    ['origin', [from]],
    ['size', [`${files} files, ${sizeOf(bytes)}`]],
    ['integrity', [integrity]],
    ['tree', [tree]],
  ])
}

/** The plan of a rollback, for people. */
export function rollbackText(to: number, { changes, undo, drops }: RollbackPlan): string {
  return [
    `Back to generation ${to}: ${changes.join(', ')}`,
    ...undo.map((migration) => `  undoes the migration ${migration}`),
    ...drops.map((drop) => `  drops ${dropText(drop)}`),
    ...(undo.length > 0 ? ['The command archives the database first.'] : []),
  ].join('\n')
}

/** Only a note: the module that emits an unknown event may be installed later. */
export function reportUnknownEvents(
  planned: readonly Plan[],
  beside: readonly ModulePackage[],
  terminal: Reporter,
): void {
  const manifests = beside.map(({ manifest }) => manifest)
  const emitted = new Set([...planned, ...manifests].flatMap(({ events = [] }) => events))
  for (const { id, listensTo } of planned) {
    const unknown = listensTo.filter((type) => type !== '*' && !emitted.has(type))
    if (unknown.length === 0) continue
    terminal.note(
      `${id} listens to ${unknown.join(', ')}, which no installed module emits. Check the spelling, or install the module that emits it.`,
    )
  }
}
