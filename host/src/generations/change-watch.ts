import { settlesWithin } from '../telemetry/settles-within.ts'
import { type LiveChange, Settling, type SettlingOptions, type Verdict } from './settling.ts'

/**
 * How long a failing module may continue to serve while its change waits for the revert, in
 * milliseconds.
 */
const REVERT_TIMEOUT = 1_000

export interface ChangeWatchOptions extends SettlingOptions {
  /** Takes the failing modules out of service. */
  readonly removeFailing: () => Promise<void>
}

/** Watches the newest change of an application, one at a time. */
export class ChangeWatch {
  readonly #options: ChangeWatchOptions
  #settling: Settling | undefined

  constructor(options: ChangeWatchOptions) {
    this.#options = options
  }

  /** Watches a change instead of the previous one; undefined: watches nothing. */
  begin(change: LiveChange | undefined): void {
    this.end()
    this.#settling = change && new Settling(change, this.#options)
  }

  /** A module's response was a failure of its own. */
  failed(module: string): void {
    this.#settling?.failed(module)
  }

  /**
   * Reverts the watched change if it brought the module. Otherwise, and while the revert waits, it
   * only removes the module from service.
   * @param folder the module's folder in the store
   */
  async handleFailure(folder: string, reason: string): Promise<void> {
    const settling = this.#settling
    const module = settling?.freshIn(folder)
    if (settling !== undefined && module !== undefined) {
      const reverted = settling.revert(`${module}: ${reason}`)
      if ((await settlesWithin(REVERT_TIMEOUT, reverted)) && (await reverted)) return
    }
    await this.#options.removeFailing()
  }

  /** Resolves after the watch, or these milliseconds: then with `watched`. */
  async settle(generation: number, milliseconds: number, served: number): Promise<Verdict | 'watched'> {
    const settling = this.#settling
    if (settling?.generation !== generation) return served === generation ? 'settled' : 'superseded'
    return (await settling.wait(milliseconds)) ? await settling.verdict : 'watched'
  }

  end(): void {
    this.#settling?.end()
  }
}
