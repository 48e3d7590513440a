import { settlesWithin } from '../telemetry/settles-within.ts'
import { type LiveChange, Settling, type SettlingOptions, type Verdict } from './settling.ts'

/** How long a module in trouble may go on serving while its change waits to be taken back, in milliseconds. */
const TAKE_BACK_TIMEOUT = 1_000

export interface ChangeWatchOptions extends SettlingOptions {
  /** Takes the modules in trouble out of service. */
  readonly expel: () => Promise<void>
}

/** Watches the newest change of an application, one at a time. */
export class ChangeWatch {
  readonly #options: ChangeWatchOptions
  #settling: Settling | undefined

  constructor(options: ChangeWatchOptions) {
    this.#options = options
  }

  /** Watches a change from now on, instead of the one before it; undefined: nothing. */
  begin(change: LiveChange | undefined): void {
    this.end()
    this.#settling = change && new Settling(change, this.#options)
  }

  /** A module has answered with a failure of its own. */
  failed(module: string): void {
    this.#settling?.failed(module)
  }

  /**
   * Takes back the change that is watched, where the module came with it. Otherwise, and while that waits, the module
   * alone leaves.
   * @param folder its place in the store
   */
  async leaveTrouble(folder: string, reason: string): Promise<void> {
    const settling = this.#settling
    const module = settling?.freshIn(folder)
    if (settling !== undefined && module !== undefined) {
      const takenBack = settling.takeBack(`${module}: ${reason}`)
      if ((await settlesWithin(TAKE_BACK_TIMEOUT, takenBack)) && (await takenBack)) return
    }
    await this.#options.expel()
  }

  /**
   * Watches the change of a generation for so many milliseconds at least, and waits as long.
   * @returns `watched` where it is watched for longer
   */
  async settle(generation: number, milliseconds: number, served: number): Promise<Verdict | 'watched'> {
    const settling = this.#settling
    if (settling?.generation !== generation) return served === generation ? 'settled' : 'superseded'
    return (await settling.wait(milliseconds)) ? await settling.verdict : 'watched'
  }

  end(): void {
    this.#settling?.end()
  }
}
