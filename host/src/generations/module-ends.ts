import { join } from 'node:path'
import { makeFolder, writeDurably } from '@mortise/storage'

// Which module ended the host, and when: a file for each end in `.app/ends`, written by the thread that
// ends it. The next start counts them.

export interface ModuleEnd {
  readonly module: string
  /** The name of its folder in the store: another version has another one. */
  readonly folder: string
  /** A sentence. */
  readonly reason: string
  /** In epoch milliseconds, on the clock of this machine. */
  readonly at: number
}

const folderOf = (directory: string) => join(directory, '.app', 'ends')

/** Durable when it resolves. */
export async function noteEnd(directory: string, end: Omit<ModuleEnd, 'at'>): Promise<void> {
  const folder = folderOf(directory)
  await makeFolder(folder, 0o700)
  const at = Date.now()
  const text = JSON.stringify({ ...end, at })
  await writeDurably(join(folder, `${at}-${process.pid}.json`), text)
}
