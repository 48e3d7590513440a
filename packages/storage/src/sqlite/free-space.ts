import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseError } from '@mortise/module-sdk/transaction'

const MOST_KEPT_FREE = 64 * 1024 * 1024
const SHARE_KEPT_FREE = 0.05
/** How often free space is checked, in milliseconds; more often while it is low. */
const INTERVAL = 1_000
const INTERVAL_LOW = 250
/**
 * Writes resume at this multiple of the limit, so that a disk around the limit does not switch back
 * and forth.
 */
const RECOVERED = 1.25

export interface Volume {
  readonly size: number
  readonly free: number
}

/** The volume of `file`, in bytes; `free` is what this user may still write. */
export async function volumeOf(file: string): Promise<Volume> {
  const { bsize, blocks, bavail } = await statfs(dirname(file))
  return { size: blocks * bsize, free: bavail * bsize }
}

/**
 * The bytes that a host leaves free on a volume: 64 MiB, or 5 % of a smaller one, unless configured
 * otherwise.
 */
export const reservedBytes = ({ size }: Volume, configured?: number): number =>
  configured ?? Math.min(MOST_KEPT_FREE, Math.floor(size * SHARE_KEPT_FREE))

/**
 * Watches the free space of a database's volume in the background. Below the limit writes are
 * refused before SQLite fails: the rest is for checkpoints, the log and the command.
 */
export class FreeSpace {
  readonly #read: () => Promise<Volume>
  readonly #configured: number | undefined
  readonly #onChange: () => void
  #low: DatabaseError | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** @param configured the bytes to keep free; 0 for none */
  constructor(options: {
    readonly read: () => Promise<Volume>
    readonly configured: number | undefined
    readonly onChange: () => void
  }) {
    this.#read = options.read
    this.#configured = options.configured
    this.#onChange = options.onChange
    if (options.configured !== 0) this.#lookIn(INTERVAL)
  }

  /** `full` below the limit. */
  get low(): DatabaseError | undefined {
    return this.#low
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref()
  }

  async #look(): Promise<void> {
    // A file system that reports nothing counts as free: SQLite reports a full one.
    const volume = await this.#read().catch(() => ({ size: 0, free: Number.POSITIVE_INFINITY }))
    if (this.#closed) return
    const kept = reservedBytes(volume, this.#configured)
    const wasLow = this.#low !== undefined
    const isLow = volume.free < kept * (wasLow ? RECOVERED : 1)
    if (isLow !== wasLow) {
      this.#low = isLow
        ? new DatabaseError('full', `its disk has ${volume.free} free bytes and must keep ${kept}`)
        : undefined
      this.#onChange()
    }
    this.#lookIn(isLow ? INTERVAL_LOW : INTERVAL)
  }
}
