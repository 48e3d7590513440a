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
  readonly migrations: readonly { readonly file: string; readonly reversible: boolean; readonly isNew: boolean }[]
  readonly settings: readonly string[]
  readonly events: readonly string[]
  readonly network: readonly string[]
  readonly scripts: readonly string[]
  readonly dependencies: readonly {
    readonly name: string
    readonly version: string
    readonly change: string
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
  readonly installed?: readonly ModulePlan[]
  readonly upgraded?: readonly ModulePlan[]
  readonly modules?: readonly ModulePlan[]
  readonly unchanged?: readonly unknown[]
  readonly plan?: {
    readonly changes?: readonly string[]
    readonly undo?: readonly unknown[]
    readonly drops?: readonly unknown[]
  }
}

/** The modules that a plan adds or replaces. */
export const modulesIn = (plan: Plan): readonly ModulePlan[] =>
  (plan.installed ?? plan.upgraded ?? plan.modules ?? []).filter((one) => Array.isArray(one.newRoutes))

/** What stands in lists of a plan is text, or an object that says it in one of its fields. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || typeof value !== 'object') return String(value)
  const { message, text, name, file, table, rows } = value as Record<string, unknown>
  if (table !== undefined && rows !== undefined) return `${rows} × ${table}`
  return String(message ?? text ?? name ?? file ?? JSON.stringify(value))
}
