import type { HeapProfiler } from 'node:inspector'
import { fileURLToPath } from 'node:url'

/** The location at which a module blocks the event loop. */
export interface Place {
  readonly module: string
  /** A file of its package and the line: `index.js:12`. */
  readonly at: string
}

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

/** Visits a call of a profile and all that it calls, each with its own bytes and the innermost module on its stack. */
export function visitProfile(
  { callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode,
  folders: ReadonlyMap<string, string>,
  visit: (selfSize: number, found: Found | undefined) => void,
  caller?: Found,
): void {
  const found = placeIn([{ path: pathOf(callFrame.url), line: callFrame.lineNumber + 1 }], folders) ?? caller
  visit(selfSize, found)
  for (const child of children) visitProfile(child, folders, visit, found)
}
