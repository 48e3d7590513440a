import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseError } from '@mortise/module-sdk'

const MOST_KEPT_FREE = 64 * 1024 * 1024
const SHARE_KEPT_FREE = 0.05
/** How often it is looked, in milliseconds; more often while there is too little. */
const INTERVAL = 1_000
const INTERVAL_LOW = 250
/** Of what is to be free, so much has to be free again: a disk around the mark does not change every moment. */
const RECOVERED = 1.25

export interface Volume {
  readonly size: number
  readonly free: number
}

/** The volume that holds `file`, in bytes; `free` is what this user may still write. */
export async function volumeOf(file: string): Promise<Volume> {
  const { bsize, blocks, bavail } = await statfs(dirname(file))
  return { size: blocks * bsize, free: bavail * bsize }
}

/** How many bytes a host leaves free on a volume: 64 MiB, or 5 % of a smaller one, unless configured otherwise. */
export const reservedBytes = ({ size }: Volume, configured?: number): number =>
  configured ?? Math.min(MOST_KEPT_FREE, Math.floor(size * SHARE_KEPT_FREE))

/**
 * Looks how much room a database has left, beside everything else. Below the mark writes are refused before SQLite
 * fails: the rest is for checkpoints, the log and the command.
 */
export class FreeSpace {
  readonly #read: () => Promise<Volume>
  readonly #configured: number | undefined
  readonly #onChange: () => void
  #low: DatabaseError | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** @param configured the bytes that are to be free; 0 for none */
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

  /** `full` while there is less than the mark. */
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
    // A file system that does not tell is taken for one with room: SQLite says when there is none.
    const volume = await this.#read().catch(() => ({ size: 0, free: Number.POSITIVE_INFINITY }))
    if (this.#closed) return
    const kept = reservedBytes(volume, this.#configured)
    const wasLow = this.#low !== undefined
    const isLow = volume.free < kept * (wasLow ? RECOVERED : 1)
    if (isLow !== wasLow) {
      this.#low = isLow
        ? new DatabaseError('full', `${volume.free} bytes are free on its disk, and ${kept} are to stay free`)
        : undefined
      this.#onChange()
    }
    this.#lookIn(isLow ? INTERVAL_LOW : INTERVAL)
  }
}
