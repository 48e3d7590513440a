/** What a plan says of a module: a part of what `app module-install --dry-run --json` prints. */
export interface ModulePlan {
  readonly id: string
  readonly package: string
  readonly version: string
  readonly replaces: string | null
  readonly newRoutes: readonly string[]
  readonly lostRoutes: readonly string[]
  readonly access?: Readonly<Record<string, unknown>>
  readonly schema: readonly { readonly name: string }[]
  readonly schemaChanges: readonly unknown[]
  readonly migrations: readonly {
    readonly file: string
    readonly reversible: boolean
    readonly isNew: boolean
  }[]
  readonly settings: readonly string[]
  readonly events: readonly string[]
  readonly network: readonly string[]
  readonly scripts: readonly string[]
  readonly dependencies: readonly {
    readonly name: string
    readonly version: string
    readonly change: 'added' | 'changed' | null
    readonly scripts: readonly string[]
  }[]
  readonly removedDependencies: readonly unknown[]
  readonly operator?: boolean
  readonly origin: string
  readonly isNewSource: boolean
  readonly bytes: number
  readonly signed: unknown
  readonly breaking: readonly unknown[]
}

export interface Plan {
  /** Which plan it is; absent for a change that needs none. */
  readonly digest?: string
  readonly generation?: number
  readonly to?: number
  /** With plans of modules. */
  readonly installed?: readonly ModulePlan[]
  readonly unchanged?: readonly string[]
  readonly removed?: readonly string[]
  readonly purged?: readonly unknown[]
  readonly drops?: readonly unknown[]
  /** Enabled, disabled or paused. */
  readonly changed?: readonly string[]
  /** Modules that stop with it. */
  readonly dependants?: readonly unknown[]
  readonly until?: string
  readonly plan?: {
    readonly changes?: readonly string[]
    readonly undo?: readonly unknown[]
    readonly drops?: readonly unknown[]
  }
  /** Of a setting: as it is now. */
  readonly key?: string
  readonly value?: unknown
}

/** The modules that a plan adds or replaces. */
export const modulesIn = (plan: Plan): readonly ModulePlan[] =>
  (plan.installed ?? []).filter((one) => Array.isArray(one.newRoutes))

/** The tables whose rows it drops. */
export const dropsIn = (plan: Plan): readonly unknown[] => [
  ...(plan.drops ?? []),
  ...(plan.plan?.drops ?? []),
]

/** Whether there is nothing to do. */
export const isEmpty = (plan: Plan): boolean =>
  plan.digest !== undefined &&
  [plan.installed, plan.removed, plan.changed, plan.plan?.changes].every((some = []) => some.length === 0)

/** What stands in lists of a plan is text, or an object that says it in one of its fields. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || typeof value !== 'object') return String(value)
  const { message, text, name, file, table, rows } = value as Record<string, unknown>
  if (table !== undefined && rows !== undefined) return `${rows} × ${table}`
  return String(message ?? text ?? name ?? file ?? JSON.stringify(value))
}
