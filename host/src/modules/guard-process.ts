import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { storeDirectory } from '@mortise/application'
import { type SocketLimits, watchEmitters, wholeError } from './emitter-owners.ts'

/** The reason by store folder. A removed entry lets its module start again. */
export type OutsideFailures = Map<string, string>

interface GuardOptions {
  /** The application folder. */
  readonly directory: string
  /** Called with the store folder of a failed module; `troubles` has the reason already. */
  readonly onTrouble: (folder: string, reason: string) => void
  /** Called for an uncaught error that is no module's. The process should end. */
  readonly onUncaught: (error: unknown) => void
  /** Called for an unhandled rejection that is no module's. */
  readonly onUnhandled: (reason: unknown) => void
  readonly sockets: SocketLimits
}

/**
 * Keeps modules from ending the process that they share: `process.exit` and the like throw if a
 * module calls them, and an uncaught error of a module counts as that module's failure. Stack
 * frames in a module's store folder identify it; if the stack has none, as for the error of a socket
 * without a listener, the frames at the socket's creation. This guards against accidents, not against
 * malice. `release` restores the process.
 */
export function guardProcess({ directory, onTrouble, onUncaught, onUnhandled, sockets }: GuardOptions) {
  const troubles: OutsideFailures = new Map()
  const moduleIn = moduleFinder(directory)
  const emitters = watchEmitters(moduleIn, sockets)
  const blame = (error: unknown): boolean => {
    const thrower = moduleIn(error instanceof Error ? error.stack : undefined)
    const root = thrower ?? emitters.ownerOf(error)
    if (root === undefined) return false
    if (!troubles.has(root)) {
      const what = thrower === undefined ? 'an error had no listener' : 'it threw outside a request'
      const reason = `${what}: ${(error as Error).message}`
      troubles.set(root, reason)
      onTrouble(root, reason)
    }
    return true
  }
  const uncaught = (error: unknown) => void (blame(error) || onUncaught(error))
  const unhandled = (reason: unknown) => void (blame(reason) || onUnhandled(reason))
  process.on('uncaughtException', uncaught)
  process.on('unhandledRejection', unhandled)
  const open = (['exit', 'reallyExit', 'abort'] as const).map((name) => refuseToModules(name, moduleIn))
  return {
    troubles,
    /** The open connections that the module in a store folder has made. */
    socketsOf: emitters.openOf,
    release() {
      process.off('uncaughtException', uncaught)
      process.off('unhandledRejection', unhandled)
      emitters.release()
      for (const restore of open) restore()
    },
  }
}

function refuseToModules(name: 'exit' | 'reallyExit' | 'abort', moduleIn: ModuleFinder): () => void {
  const ends = process as unknown as Record<string, (...args: unknown[]) => unknown>
  const original = ends[name] as (...args: unknown[]) => unknown
  ends[name] = (...args) => {
    const error = wholeError(`it called process.${name}(), which only the host may call`)
    if (moduleIn(error.stack) !== undefined) throw error
    return original.apply(process, args)
  }
  return () => {
    ends[name] = original
  }
}

type ModuleFinder = (stack: string | undefined) => string | undefined

/**
 * Finds the store folder of the first frame in a module. Frames have real paths or URLs of files,
 * also if the application folder is a symbolic link. The host itself may be a package of the store.
 */
function moduleFinder(directory: string): ModuleFinder {
  const store = storeDirectory(directory)
  const real = existsSync(store) ? realpathSync(store) : join(realpathSync(directory), '.app', 'store')
  const beginnings = [`${real}/`, `${pathToFileURL(real).href}/`]
  const isHost = (folder: string) => fileURLToPath(import.meta.url).startsWith(`${join(real, folder)}/`)
  return (stack = '') => {
    for (const line of stack.split('\n')) {
      for (const beginning of beginnings) {
        const at = line.indexOf(beginning)
        if (at === -1) continue
        const [folder = ''] = line.slice(at + beginning.length).split('/')
        if (!isHost(folder)) return join(store, folder)
      }
    }
    return undefined
  }
}
