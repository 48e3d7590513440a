import type { DatabaseError } from '@mortise/module-sdk/transaction'
import { RecentRefusals } from '../port/recent-refusals.ts'
import { FreeSpace, type Volume } from './free-space.ts'

/** The free space that writes leave on the disk. */
export interface SpaceOptions {
  readonly read: () => Promise<Volume>
  readonly reservedBytes: number | undefined
}

/**
 * Why writes are refused: they are held, free space is low, or there was a shortage a moment ago.
 */
export class WriteRefusals {
  readonly #recent = new RecentRefusals()
  readonly #space: FreeSpace | undefined
  #held: DatabaseError | undefined
  /** The error with which writes are refused before they are tried; undefined while they are. */
  now: DatabaseError | undefined

  constructor(space: SpaceOptions | undefined) {
    this.#space =
      space &&
      new FreeSpace({ read: space.read, configured: space.reservedBytes, onChange: () => this.#decide() })
  }

  get reason(): string | undefined {
    return this.now?.message ?? this.#recent.reason
  }

  /** The number of refused writes. */
  get count(): number {
    return this.#recent.count
  }

  get held(): DatabaseError | undefined {
    return this.#held
  }

  /** The error for low free space. */
  get low(): DatabaseError | undefined {
    return this.#space?.low
  }

  hold(held: DatabaseError): void {
    this.#held = held
    this.#decide()
  }

  release(): void {
    this.#held = undefined
    this.#decide()
  }

  /** Counts the refusal of a write that was tried. */
  tried(error: Error): void {
    this.#recent.add(error.message)
  }

  /** Counts the refusal of a write that was not tried. */
  refuse(refusal: DatabaseError): Promise<never> {
    this.#recent.add(refusal.message, 0)
    return Promise.reject(refusal)
  }

  close(): void {
    this.#space?.close()
  }

  #decide(): void {
    this.now = this.#held ?? this.#space?.low
  }
}
