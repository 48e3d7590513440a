// Every state of an installed module, and what it means. Other files ask the functions below. A new
// state begins here: the compiler then names every place that decides.

/** What the host does with a module. */
interface Treatment {
  /** Its code is loaded and its tables are migrated, so other modules can use its contracts. */
  readonly isLoaded: boolean
  /** Its routes respond, and its event handlers, jobs and tasks run. */
  readonly isServing: boolean
}

const treatments = {
  active: { isLoaded: true, isServing: true },
  paused: { isLoaded: true, isServing: false },
  quarantined: { isLoaded: false, isServing: false },
  failed: { isLoaded: false, isServing: false },
  disabled: { isLoaded: false, isServing: false },
} as const satisfies Record<string, Treatment>

export type ModuleState = keyof typeof treatments

type StateWith<Trait extends keyof Treatment> = {
  [State in ModuleState]: (typeof treatments)[State][Trait] extends true ? State : never
}[ModuleState]

/** Whatever has a state: a module, a decision, a report. */
interface HasState {
  readonly state: ModuleState
}

export const moduleStates = Object.keys(treatments) as ModuleState[]

export const isLoaded = <Module extends HasState>(
  module: Module,
): module is Module & { readonly state: StateWith<'isLoaded'> } => treatments[module.state].isLoaded

export const isServing = <Module extends HasState>(
  module: Module,
): module is Module & { readonly state: StateWith<'isServing'> } => treatments[module.state].isServing

/** For a switch over all states: a new one does not compile. */
export function unknownState(state: never): never {
  throw new TypeError(`"${String(state)}" is not a state of a module`)
}
