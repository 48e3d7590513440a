import { isDeepStrictEqual } from 'node:util'

/** A process that serves the application, and what it serves. */
export interface ServingHost {
  /** The name of its machine. */
  readonly machine: string
  readonly pid: number
  readonly url: string
  /** The version of the host. */
  readonly version: string
  /** Counted in its own application folder: those of two folders tell nothing of each other. */
  readonly generation: number
  /** By id; those that are switched off are left out. `tree` is the hash that the lock has. */
  readonly modules: Readonly<Record<string, ServedModule>>
}

interface ServedModule {
  readonly version: string
  readonly tree: string
  readonly state: 'active' | 'failed'
}

/** Whether two hosts answer alike. */
export const servesSame = (one: ServingHost, other: ServingHost): boolean =>
  one.version === other.version && isDeepStrictEqual(one.modules, other.modules)

/** What `other` serves otherwise than `here`, in words; nothing where they serve alike. */
export function differences(here: ServingHost, other: ServingHost): string[] {
  const found = other.version === here.version ? [] : [`host ${other.version} (here ${here.version})`]
  for (const id of new Set([...Object.keys(here.modules), ...Object.keys(other.modules)])) {
    const [mine, theirs] = [here.modules[id], other.modules[id]]
    if (isDeepStrictEqual(mine, theirs)) continue
    if (theirs === undefined) found.push(`no ${id} (here ${named(mine)})`)
    else if (mine === undefined) found.push(`${id} ${named(theirs)} (not here)`)
    else if (named(mine) === named(theirs)) found.push(`${id} ${named(theirs)} with other files`)
    else found.push(`${id} ${named(theirs)} (here ${named(mine)})`)
  }
  return found
}

const named = (module: ServedModule | undefined) =>
  `${module?.version}${module?.state === 'failed' ? ', failed' : ''}`

/** How people find it. */
export const hostLabel = ({ machine, url, pid }: Pick<ServingHost, 'machine' | 'url' | 'pid'>): string =>
  `${machine} ${url} (process ${pid})`
