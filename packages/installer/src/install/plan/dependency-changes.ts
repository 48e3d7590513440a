import { foreignText } from '../../reporting/foreign-text.ts'
import { sizeOf } from '../../store/format-bytes.ts'
import type { Dependency } from './dependency-list.ts'

export interface PlannedDependency extends Dependency {
  /** Null if the version before has the same. */
  readonly change: 'added' | 'changed' | null
  /** The version that it replaces. */
  readonly replaces: string | null
}

export interface PlannedDependencies {
  readonly dependencies: readonly PlannedDependency[]
  /** Dependencies of only the version before. */
  readonly removedDependencies: readonly Pick<Dependency, 'name' | 'version'>[]
}

/** @param before empty if there was no version before, undefined if it is unknown */
export function dependencyChanges(
  now: readonly Dependency[],
  before: readonly Dependency[] = now,
): PlannedDependencies {
  const isIn = (list: readonly Dependency[], { name, version, alias }: Dependency) =>
    list.some((one) => one.name === name && one.version === version && one.alias === alias)
  const gone = before.filter((one) => !isIn(now, one))
  const dependencies = now.map((one): PlannedDependency => {
    if (isIn(before, one)) return { ...one, change: null, replaces: null }
    const at = gone.findIndex(({ name }) => name === one.name)
    if (at < 0) return { ...one, change: 'added', replaces: null }
    const [previous] = gone.splice(at, 1)
    return { ...one, change: 'changed', replaces: (previous as Dependency).version }
  })
  return { dependencies, removedDependencies: gone.map(({ name, version }) => ({ name, version })) }
}

/**
 * For people: a summary, then one line each.
 * @param brief only dependencies that changed or have notes; all new ones share one line
 */
export function dependencyLines(
  { dependencies, removedDependencies }: PlannedDependencies,
  isUpgrade: boolean,
  brief = false,
): string[] {
  const removed = removedDependencies.map(({ name, version }) => `- ${name} ${version}`)
  if (dependencies.length + removed.length === 0) return ['no other package']
  const shown = dependencies.filter(
    (one) => !brief || (isUpgrade && one.change !== null) || notesOf(one).length > 0,
  )
  return [
    summary(dependencies, removed.length, isUpgrade),
    ...shown.map((one) => `${isUpgrade ? marks[one.change ?? 'same'] : ''}${lineOf(one)}`),
    ...removed,
  ]
}

export const bytesOf = (dependencies: readonly Dependency[]) =>
  dependencies.reduce((sum, { bytes }) => sum + bytes, 0)

const marks = { added: '+ ', changed: '~ ', same: '  ' }

function summary(dependencies: readonly PlannedDependency[], removed: number, isUpgrade: boolean): string {
  const number = dependencies.length === 1 ? '1 package' : `${dependencies.length} packages`
  const count = (change: string) => dependencies.filter((one) => one.change === change).length
  const parts = [
    [count('added'), 'added'],
    [count('changed'), 'in another version'],
    [removed, 'removed'],
  ] as const
  const changes = parts.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : []))
  const against = !isUpgrade ? '' : changes.length > 0 ? `: ${changes.join(', ')}` : ', the same as before'
  return `${number}, ${sizeOf(bytesOf(dependencies))}${against}`
}

function lineOf({ name, alias, version, replaces, license, bytes, ...more }: PlannedDependency): string {
  const notes = [
    ...(alias === null ? [] : [`the package ${alias}`]),
    licenseText(license),
    sizeOf(bytes),
    ...notesOf(more),
  ]
  return `${name} ${replaces === null || replaces === version ? version : `${replaces} → ${version}`} (${notes.join(', ')})`
}

export const licenseText = (license: string | null) => (license === null ? 'no license' : short(license))

/** What deserves attention. */
export function notesOf({
  scripts,
  addons,
  deprecated,
}: Pick<Dependency, 'scripts' | 'addons' | 'deprecated'>): string[] {
  return [
    ...(scripts.length > 0 ? [`scripts skipped: ${scripts.join(' ')}`] : []),
    ...(addons.length > 0 ? [`native code: ${short(addons.join(' '))}`] : []),
    ...(deprecated === null ? [] : [`deprecated: ${short(deprecated)}`]),
  ]
}

const short = (text: string) => foreignText(text, 100)
