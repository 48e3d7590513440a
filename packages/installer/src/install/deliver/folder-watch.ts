import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, sep } from 'node:path'

/** What is not the author's code: dependencies, and names that begin with a dot. */
export const isForeign = (name: string) => name === 'node_modules' || name.startsWith('.')

/**
 * Watches the author's files below a folder. Node's own recursive watch would hold one watch for
 * each file of node_modules.
 */
export class FolderWatch {
  readonly #changed: (path: string) => void
  readonly #watchers = new Map<string, FSWatcher>()

  constructor(folder: string, changed: (path: string) => void) {
    this.#changed = changed
    this.#add(folder)
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #add(folder: string): void {
    const entries = namesOf(folder)
    if (entries === undefined) return
    const watcher = watch(folder, (event, name) => {
      if (name === null || isForeign(name)) return
      // A folder that was deleted and made again is another one.
      if (event === 'rename') this.#renew(join(folder, name))
      this.#changed(join(folder, name))
    })
    watcher.on('error', () => {})
    this.#watchers.set(folder, watcher)
    for (const entry of entries)
      if (entry.isDirectory() && !isForeign(entry.name)) this.#add(join(folder, entry.name))
  }

  #renew(path: string): void {
    for (const [folder, watcher] of this.#watchers) {
      if (folder !== path && !folder.startsWith(path + sep)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    this.#add(path)
  }
}

/** Undefined for a file, or nothing. */
function namesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return undefined
  }
}
