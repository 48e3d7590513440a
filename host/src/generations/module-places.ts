import { fileURLToPath } from 'node:url'
import type { Place } from './loop-watch.ts'

/** Code of a module, on the stack or among those that allocate. */
export interface Found extends Place {
  /** The name of its folder in the store. */
  readonly folder: string
}

export const pathOf = (url = '') => (url.startsWith('file://') ? fileURLToPath(url) : url)

const inStore = /\/\.app\/store\/([^/]+)\/(.+)$/

/** The first of them in a module; the host may be a package of the store, too. */
export function placeIn(
  frames: readonly { path: string; line: number }[],
  folders: ReadonlyMap<string, string>,
): Found | undefined {
  for (const { path, line } of frames) {
    const [, folder = '', file] = inStore.exec(path) ?? []
    const module = folders.get(folder)
    if (module !== undefined) return { module, folder, at: `${file}:${line}` }
  }
  return undefined
}
