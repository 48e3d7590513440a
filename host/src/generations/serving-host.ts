import { isDeepStrictEqual } from 'node:util'
import type { ModuleState } from '@mortise/application'

/** A process that serves the application, and what it serves. */
export interface ServingHost {
  /** The name of its machine. */
  readonly machine: string
  readonly pid: number
  readonly url: string
  readonly version: string
  /** Counted in its own application folder: numbers of two folders cannot be compared. */
  readonly generation: number
  /** By id, without disabled modules. `tree` is the hash in the lock. */
  readonly modules: Readonly<Record<string, ServedModule>>
}

interface ServedModule {
  readonly version: string
  readonly tree: string
  readonly state: Exclude<ModuleState, 'disabled'>
}

/** What a host serves of a module; undefined if nothing. */
export const servedModule = ({ modules }: ServingHost, id: string): ServedModule | undefined =>
  Object.hasOwn(modules, id) ? modules[id] : undefined

/** Whether two hosts serve the same. */
export const servesSame = (one: ServingHost, other: ServingHost): boolean =>
  one.version === other.version && isDeepStrictEqual(one.modules, other.modules)

/** What `other` serves differently than `here`, in words; empty if they serve the same. */
export function differences(here: ServingHost, other: ServingHost): string[] {
  const found = other.version === here.version ? [] : [`host ${other.version} (here ${here.version})`]
  for (const id of new Set([...Object.keys(here.modules), ...Object.keys(other.modules)])) {
    const [mine, theirs] = [servedModule(here, id), servedModule(other, id)]
    if (isDeepStrictEqual(mine, theirs)) continue
    if (theirs === undefined) found.push(`no ${id} (here ${named(mine)})`)
    else if (mine === undefined) found.push(`${id} ${named(theirs)} (not here)`)
    else if (named(mine) === named(theirs)) found.push(`${id} ${named(theirs)} with other files`)
    else found.push(`${id} ${named(theirs)} (here ${named(mine)})`)
  }
  return found
}

const named = (module: ServedModule | undefined) =>
  `${module?.version}${module === undefined || module.state === 'active' ? '' : `, ${module.state}`}`

/** A label by which people find the host. */
export const hostLabel = ({ machine, url, pid }: Pick<ServingHost, 'machine' | 'url' | 'pid'>): string =>
  `${machine} ${url} (process ${pid})`
