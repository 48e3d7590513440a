import { Session } from 'node:inspector/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { HeapWatch } from './heap-watch.ts'
import { visitProfile } from './module-places.ts'

// Who has the main thread and who allocates, measured from another thread, and only on request.
// It looks at the stack itself: V8's own profile of the CPU does not know a loop that was compiled before
// the profile began, and a start of it holds the main thread up for a tenth of a second.

/** For how long, in milliseconds. */
const DURATION = 2_000
/** Between two looks, in milliseconds. The time since the one before counts for what is found. */
const MOMENT = 5

export interface Taken {
  /** The part of the time in which it had the main thread. */
  readonly cpu: number
  /** Bytes of the heap per second, garbage included; null if the heap is nearly full. */
  readonly allocated: number | null
}

/** The main thread of one process. The time of all modules, of the host and without either is 1. */
export interface Measured {
  /** How long it was measured. */
  readonly seconds: number
  /** By id, with what they call in the host. */
  readonly modules: Readonly<Record<string, Taken>>
  /** The host, Node and their packages, when no module has called them. */
  readonly host: Taken
  readonly idle: number
  /** A part of all these. */
  readonly garbageCollection: number
}

/** @param folders the module ids, by the names of their folders in the store */
export async function measureModules(
  folders: ReadonlyMap<string, string>,
  heap: HeapWatch,
): Promise<Measured> {
  const session = new Session()
  session.connectToMainThread()
  try {
    let times: Times | undefined
    const begun = performance.now()
    // V8 collects all garbage at the end of a profile of allocations: that is not measured.
    const allocations = await heap.allocations(async () => {
      times = await timesOf(session, folders)
    })
    const bytes = new Map<string, number>()
    if (allocations !== undefined)
      visitProfile(allocations, folders, (selfSize, found) => add(bytes, found?.module ?? HOST, selfSize))
    const { all, by, collected } = times as Times
    const seconds = (performance.now() - begun) / 1000
    const taken = (who: string): Taken => ({
      cpu: (by.get(who) ?? 0) / all,
      allocated: allocations === undefined ? null : (bytes.get(who) ?? 0) / seconds,
    })
    return {
      seconds: all / 1000,
      modules: Object.fromEntries(Array.from(folders.values(), (module) => [module, taken(module)])),
      host: taken(HOST),
      idle: (by.get(IDLE) ?? 0) / all,
      garbageCollection: collected / all,
    }
  } finally {
    session.disconnect()
  }
}

/** Not the id of a module. */
const HOST = ''
const IDLE = ' '

/** In milliseconds. */
interface Times {
  readonly all: number
  readonly by: ReadonlyMap<string, number>
  readonly collected: number
}

async function timesOf(session: Session, folders: ReadonlyMap<string, string>): Promise<Times> {
  const { result } = await session.post('Runtime.evaluate', { expression: collector })
  const by = new Map<string, number>()
  const expression = lookFor([...folders.keys()])
  const begun = performance.now()
  let last = begun
  while (last - begun < DURATION) {
    await pause(MOMENT)
    const { result: seen } = await session.post('Runtime.evaluate', { expression, returnByValue: true })
    const now = performance.now()
    add(by, folders.get(seen.value) ?? seen.value, now - last)
    last = now
  }
  const { result: microseconds } = await session.post('Runtime.callFunctionOn', {
    objectId: result.objectId,
    functionDeclaration:
      'function () { return this.stop().statistics.reduce((sum, { cost }) => sum + cost, 0) }',
    returnByValue: true,
  })
  return { all: last - begun, by, collected: microseconds.value / 1000 }
}

const add = (sums: Map<string, number>, key: string, value: number) =>
  void sums.set(key, (sums.get(key) ?? 0) + value)

const collector = `(() => {
  const profiler = new (process.getBuiltinModule('node:v8').GCProfiler)()
  profiler.start()
  return profiler
})()`

/** Returns the folder of the innermost module on the stack, HOST, or IDLE. What it is itself has no name. */
const lookFor = (folders: readonly string[]) => `(() => {
  const folders = new Set(${JSON.stringify(folders)})
  const frames = process.getBuiltinModule('node:util').getCallSites(200).filter(({ scriptName }) => scriptName !== '')
  if (frames.length === 0) return ${JSON.stringify(IDLE)}
  for (const { scriptName } of frames) {
    const [, folder] = /\\/\\.app\\/store\\/([^/]+)\\//.exec(scriptName) ?? []
    if (folders.has(folder)) return folder
  }
  return ${JSON.stringify(HOST)}
})()`
