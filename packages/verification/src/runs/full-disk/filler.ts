import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'

const BLOCK = 256 * 1024

/** Fills a file system, and frees it again. */
export class Filler {
  readonly #folder: string
  readonly #file: string

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'filler')
  }

  /** Leaves about this many bytes free. */
  async fill(left: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder)
    const handle = await open(this.#file, 'a')
    try {
      for (let room = bavail * bsize - left; room > 0; ) {
        const { bytesWritten } = await handle.write(Buffer.alloc(Math.min(room, BLOCK)))
        room -= bytesWritten
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      await handle.close()
    }
  }

  async empty(): Promise<void> {
    await rm(this.#file, { force: true })
  }
}
