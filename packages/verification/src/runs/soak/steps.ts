import { join } from 'node:path'
import type { LockFile } from '@mortise/host'
import { type Fault, writeChangingModule } from '../../harness/changing-module.ts'
import type { Random } from '../../harness/random.ts'

/** A command that changes one module. */
export interface Step {
  readonly argv: readonly string[]
  readonly module: string
  /** The expected exit code without interference. */
  readonly exitCode: number
}

/** Every kind of fault, with the exit code of its command. */
const faults: readonly (readonly [Fault, number])[] = [
  ['fails its self-check', 5],
  ['throws', 4],
  ['bad migration', 4],
]

/** Chooses commands that fit the installed modules. */
export class Steps {
  readonly #folder: string
  readonly #random: Random
  readonly #modules: readonly string[]
  /** A module of these was installed: before that, a rollback would remove the one under load. */
  #canRollBack = false
  #version = 0
  #mark = 0
  #fault = 0

  /** @param folder for the packages */
  constructor(folder: string, modules: readonly string[], random: Random) {
    this.#folder = folder
    this.#modules = modules
    this.#random = random
  }

  /** @param except a module that is being changed already */
  async next({ modules }: LockFile, except?: string): Promise<Step> {
    const module = this.#random.oneOf(this.#modules.filter((id) => id !== except))
    const step = (...argv: string[]): Step => ({ argv, module, exitCode: 0 })
    const install = async () => step('module-install', await this.#write(module))
    const rollback = async () => step('module-rollback')
    const locked = modules[module]
    this.#canRollBack ||= this.#modules.some((id) => modules[id] !== undefined)
    if (!locked) {
      return await this.#random.weighted([
        [6, install],
        [this.#canRollBack ? 1 : 0, rollback],
      ])()
    }
    const turn = locked.enabled ? 'module-disable' : 'module-enable'
    return await this.#random.weighted([
      [6, install],
      [4, async () => step('config', 'set', `${module}.mark`, String(++this.#mark))],
      [2, rollback],
      [2, async () => step('module-remove', module)],
      [locked.enabled ? 5 : 15, async () => step(turn, module)],
    ])()
  }

  /** The installation of a version with a fault, each kind in its turn; it must be refused or reverted. */
  async faulty({ modules }: LockFile): Promise<Step> {
    // The host does not look at the code of what is switched off.
    const choices = this.#modules.filter((id) => modules[id]?.enabled !== false)
    if (choices.length === 0) return await this.next({ modules } as LockFile)
    const module = this.#random.oneOf(choices)
    const [fault, exitCode] = faults[this.#fault++ % faults.length] as (typeof faults)[number]
    return { argv: ['module-install', await this.#write(module, fault)], module, exitCode }
  }

  #write(module: string, fault?: Fault): Promise<string> {
    const version = `1.0.${++this.#version}`
    return writeChangingModule(join(this.#folder, `${module}-${version}`), module, version, fault)
  }
}
