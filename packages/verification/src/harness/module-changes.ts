import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, readLockFile } from '@mortise/application'
import type { Reply } from './caller.ts'
import { type Fault, writeChangingModule } from './changing-module.ts'
import type { Random } from './random.ts'

/** What an application has of a changing module. */
export interface ModuleState {
  /** Undefined if it is not installed. */
  readonly version: string | undefined
  readonly isEnabled: boolean
  readonly mark: number
}

/** A command that changes a module. */
export interface Change {
  readonly argv: readonly string[]
  readonly module: string
  /** The state after the command, unless it is a rollback. */
  readonly after: ModuleState
}

/** The state by the files of the application. */
export async function moduleIn(directory: string, id: string): Promise<ModuleState> {
  const locked = (await readLockFile(directory)).modules[id]
  const { modules } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const isEnabled = locked === undefined || locked.enabled
  return { version: locked?.version, isEnabled, mark: modules?.[id]?.mark ?? 0 }
}

/** What a host serves of a module in this state: see `servedIn`. */
export const servedOf = ({ version, isEnabled, mark }: ModuleState): string =>
  version === undefined || !isEnabled ? '404' : `${version}, mark ${mark}`

/** What the response of a changing module shows: `404`, or its version and setting. */
export function servedIn(reply: Reply): string {
  if (reply.status !== 200) return String(reply.status)
  const { version, mark } = reply.json
  return `${version}, mark ${mark}`
}

/** Chooses commands that fit the state of a module. No version is installed twice, so nothing is a downgrade. */
export class ModuleChanges {
  readonly #folder: string
  readonly #random: Random
  #patch = 0

  /** @param folder for the packages */
  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
  }

  async next(module: string, state: ModuleState): Promise<Change> {
    const { version, isEnabled, mark } = state
    const change = (argv: readonly string[], after: Partial<ModuleState>): Change => ({
      ...{ argv, module, after: { ...state, ...after } },
    })
    const kind = this.#random.weighted([
      [6, 'install'],
      [version === undefined ? 0 : 4, 'set'],
      [version === undefined ? 0 : 2, 'remove'],
      [version === undefined ? 0 : isEnabled ? 5 : 15, 'toggle'],
    ] as const)
    if (kind === 'install') return this.install(module, state)
    if (kind === 'set') return change(['config', 'set', `${module}.mark`, `${mark + 1}`], { mark: mark + 1 })
    if (kind === 'remove') return change(['module-remove', module], { version: undefined })
    return change([isEnabled ? 'module-disable' : 'module-enable', module], { isEnabled: !isEnabled })
  }

  /** The next version. With a fault it must be refused or reverted. */
  async install(module: string, state: ModuleState, fault?: Fault): Promise<Change> {
    const version = `1.0.${++this.#patch}`
    const folder = join(this.#folder, `${module}-${version}`)
    const argv = ['module-install', '--yes', await writeChangingModule(folder, module, version, fault)]
    const isEnabled = state.version === undefined || state.isEnabled
    return { argv, module, after: { ...state, version, isEnabled } }
  }
}
