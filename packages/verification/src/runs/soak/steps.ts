import { join } from 'node:path'
import type { Lock } from '@mortise/host'
import type { Random } from '../../harness/random.ts'
import { type Fault, writeChangingModule } from './soak-modules.ts'

/** A command that changes one module. */
export interface Step {
  readonly argv: readonly string[]
  readonly module: string
  /** What it ends with, when nothing interferes. */
  readonly exitCode: number
}

/** Every kind of fault, and what the command that meets it ends with. */
const faults: readonly (readonly [Fault, number])[] = [
  ['fails its self-check', 5],
  ['throws', 4],
  ['bad migration', 4],
]

/** Thinks up commands that make sense for what is installed. */
export class Steps {
  readonly #folder: string
  readonly #random: Random
  readonly #modules: readonly string[]
  #version = 0
  #mark = 0
  #fault = 0

  /** @param folder where it writes the packages that are installed */
  constructor(folder: string, modules: readonly string[], random: Random) {
    this.#folder = folder
    this.#modules = modules
    this.#random = random
  }

  /** @param except a module that is being changed already */
  async next({ modules }: Lock, except?: string): Promise<Step> {
    const module = this.#oneOf(this.#modules.filter((id) => id !== except))
    const step = (...argv: string[]): Step => ({ argv, module, exitCode: 0 })
    const install = async () => step('module-install', await this.#write(module))
    const rollback = async () => step('module-rollback')
    const locked = modules[module]
    if (!locked) {
      return await this.#random.weighted([
        [6, install],
        [1, rollback],
      ])()
    }
    const turn = locked.enabled ? 'module-disable' : 'module-enable'
    return await this.#random.weighted([
      [6, install],
      [4, async () => step('config', 'set', `${module}.mark`, String(++this.#mark))],
      [2, rollback],
      [2, async () => step('module-remove', `@soak/${module}`)],
      [locked.enabled ? 5 : 15, async () => step(turn, module)],
    ])()
  }

  /** The installation of a version with a fault, each kind in its turn; it must be refused or taken back. */
  async faulty({ modules }: Lock): Promise<Step> {
    // The host does not look at the code of what is switched off.
    const choices = this.#modules.filter((id) => modules[id]?.enabled !== false)
    if (choices.length === 0) return await this.next({ modules } as Lock)
    const module = this.#oneOf(choices)
    const [fault, exitCode] = faults[this.#fault++ % faults.length] as (typeof faults)[number]
    return { argv: ['module-install', await this.#write(module, fault)], module, exitCode }
  }

  #oneOf(ids: readonly string[]): string {
    return this.#random.weighted(ids.map((id) => [1, id] as const))
  }

  #write(module: string, fault?: Fault): Promise<string> {
    const version = `1.0.${++this.#version}`
    return writeChangingModule(join(this.#folder, `${module}-${version}`), module, version, fault)
  }
}
