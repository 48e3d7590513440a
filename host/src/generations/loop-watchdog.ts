import { writeSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, resourceLimits, workerData } from 'node:worker_threads'
import { HeapWatch } from './heap-watch.ts'
import type { FromLoopWatchdog, LoopWatchRequest, ToLoopWatchdog } from './loop-watch.ts'
import type { Measured } from './measure-modules.ts'
import { type Found, pathOf, placeIn } from './module-places.ts'
import type { Change } from './revert-change.ts'

// A thread beside the main one. Code that blocks the event loop also blocks the main thread's own
// checks. This thread counts the time without a heartbeat by its own clock, so a stopped process or a
// machine that sleeps does not count. Then it looks where the main thread is. Nobody is blamed for
// less than two looks at the same module, and for time in which the garbage collector ran, unless the
// heap has grown much since the event loop last turned: what blocks it fills the heap, too.

const { beats, heapLimit, limits, directory, blockedSeconds, parent } = workerData as LoopWatchRequest

/** How often it checks for a heartbeat, in milliseconds. */
const INTERVAL = 250
/** How long before the end it begins to look, as a part of the time until then. */
const LOOK_AHEAD = 0.15
const MEGABYTE = 1024 * 1024
/** Between two looks, in milliseconds. */
const MOMENT = 300
/** How often it asks whether the main thread has paused, in milliseconds. */
const LOOK_INTERVAL = 50
/** The part of the heap's limit that garbage collection is no excuse for. */
const GROWN = 0.1
/** How many functions of Node it follows to find the one that it calls. */
const MOST_STEPS = 60
/** In milliseconds. A command that waits for this process is freed by its end. */
const LOCK_TIMEOUT = 5_000

const counter = new Int32Array(beats)
let last = Atomics.load(counter, 0)
let silent = 0
let change: Change | undefined
let searching: Promise<void> | undefined
/** The resident memory at the last heartbeat. */
let resident = 0
/** What V8 adds to the limit for young objects, in bytes. It ends a process whose old ones have no room. */
const young = Math.min((resourceLimits.maxYoungGenerationSizeMb ?? 0) * MEGABYTE, heapLimit / 2)
const heap = new HeapWatch(heapLimit - young, foldersOfModules, async (found, reason) => {
  say(`The host ends: ${reason}.`)
  await endBy(found, reason)
})

setInterval(() => {
  if (parent !== undefined && process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  const beat = Atomics.load(counter, 0)
  const rss = process.memoryUsage.rss()
  if (beat !== last) resident = rss
  // A blocked main thread does not say how large its heap is now.
  heap.check(Atomics.load(counter, 1) * MEGABYTE + rss - resident)
  if (beat !== last) {
    last = beat
    silent = 0
    return
  }
  silent += INTERVAL
  if (silent < firstLook()) return
  searching ??= search().finally(() => {
    searching = undefined
  })
}, INTERVAL)

// Reports earlier results first: the main thread may have continued meanwhile.
parentPort?.on('message', async (message: ToLoopWatchdog) => {
  if (message === 'over') {
    await searching
    post('over')
  } else if (message === 'measure') post({ measured: await measured().catch(() => undefined) })
  else change = message.follow
})

post('ready')

function post(message: FromLoopWatchdog): void {
  parentPort?.postMessage(message)
}

async function measured(): Promise<Measured> {
  const { measureModules } = await import('./measure-modules.ts')
  return await measureModules(await foldersOfModules(), heap)
}

/** After how many milliseconds the process ends. */
function endAfter(): number {
  if (blockedSeconds > 0) return blockedSeconds * 1000
  return change === undefined ? Number.POSITIVE_INFINITY : limits.hung
}

/** After how many milliseconds it looks for the first time. */
function firstLook(): number {
  return Math.min(
    endAfter() * (1 - LOOK_AHEAD),
    change === undefined ? Number.POSITIVE_INFINITY : limits.blocked,
  )
}

/** Looks until the event loop turns, or the process ends. */
async function search(): Promise<void> {
  const since = last
  const isBlocked = () => Atomics.load(counter, 0) === since
  // There is time now for what the end needs.
  const [folders] = await Promise.all([foldersOfModules(), import('./module-ends.ts')])
  let before: Found | undefined
  let isReported = false
  while (isBlocked()) {
    const found = await look(folders, isBlocked)
    if (found?.module !== undefined && found.module === before?.module) {
      if (!isReported && isFresh(found)) post({ module: found.module, at: found.at })
      isReported = true
      if (silent >= endAfter() && isBlocked()) await end(found)
    }
    before = found ?? before
    await pause(MOMENT)
  }
  await endMeasurement()
}

const isFresh = ({ module }: Found) => change !== undefined && Object.hasOwn(change.fresh, module)

/** The module ids, by the names of their folders in the store. */
async function foldersOfModules(): Promise<Map<string, string>> {
  const { readLockFile, storedModule } = await import('@mortise/application')
  const { basename } = await import('node:path')
  const lock = await readLockFile(directory).catch(() => undefined)
  const locks = [change?.previous, change?.next, lock].filter((one) => one !== undefined)
  return new Map(
    locks.flatMap(({ modules }) =>
      Object.entries(modules).map(([id, locked]) => [basename(storedModule(directory, locked)), id] as const),
    ),
  )
}

/** The module does not return: the next start serves without the change that brought it, or counts its end. */
async function end(found: Found): Promise<void> {
  const { module, at } = found
  const reason = `${module} has blocked the event loop for ${Math.round(silent / 1000)} s, at ${at}`
  say(`The host ends: ${reason}.`)
  await endBy(found, reason)
}

async function endBy(found: Found, reason: string): Promise<void> {
  if (!isFresh(found) || !(await isReverted(reason))) await note(found, reason)
  process.kill(process.pid, 'SIGKILL')
}

async function isReverted(reason: string): Promise<boolean> {
  const { revertChange } = await import('./revert-change.ts')
  const signal = AbortSignal.timeout(LOCK_TIMEOUT)
  const back = await revertChange(directory, change as Change, `${reason}; the host ended itself`, {
    signal,
  }).catch((error: Error) => say(`The change cannot be reverted: ${error.message}`))
  return back !== undefined
}

async function note({ module, folder }: Found, reason: string): Promise<void> {
  const { noteEnd } = await import('./module-ends.ts')
  await noteEnd(directory, { module, folder, reason }).catch((error: Error) =>
    say(`It is not recorded: ${error.message}`),
  )
}

/** The main thread, which has the log, is blocked. */
function say(text: string): void {
  writeSync(2, `${text}\n`)
}

/**
 * The innermost module on the stack of the main thread. Waits until native code returns, for as long
 * as the event loop is blocked.
 */
async function look(
  folders: ReadonlyMap<string, string>,
  isBlocked: () => boolean,
): Promise<Found | undefined> {
  const session = new Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  let result: { readonly found: Found | undefined } | undefined
  let steps = 0
  session.on('Debugger.scriptParsed', ({ params }) => void urls.set(params.scriptId, params.url))
  session.on('Debugger.paused', async ({ params }) => {
    const frames = params.callFrames.map(({ location }) => ({
      path: pathOf(urls.get(location.scriptId)),
      line: location.lineNumber + 1,
    }))
    const found = placeIn(frames, folders)
    const isOfNode = frames.every(({ path }) => !path.startsWith('/'))
    if (found === undefined && isOfNode && steps < MOST_STEPS) {
      steps += 1
      // What Node calls next: a callback of `process.nextTick` say.
      await session.post('Debugger.stepInto').catch(() => {})
      return
    }
    const isInnocent = await wasCollectingOrDebugged(session).catch(() => true)
    result = { found: isInnocent ? undefined : found }
    await session.post('Debugger.resume').catch(() => {})
  })
  try {
    session.post('Debugger.enable').catch(() => {})
    session.post('Debugger.pause').catch(() => {})
    while (result === undefined && isBlocked()) await pause(LOOK_INTERVAL)
    return result?.found
  } finally {
    session.post('Debugger.disable').catch(() => {})
    session.disconnect()
  }
}

const KEY = "Symbol.for('@mortise/host: looks at the event loop')"

/**
 * Whether the garbage collector took most of the time since the last look, or a debugger is
 * attached. Each look begins the measurement for the next one.
 */
const measure = `((before) => {
  const { getBuiltinModule } = process
  const { GCProfiler, getHeapStatistics } = getBuiltinModule('node:v8')
  const key = ${KEY}
  const previous = globalThis[key]
  const profiler = new GCProfiler()
  Object.defineProperty(globalThis, key, {
    value: { profiler, at: performance.now() }, configurable: true, enumerable: false,
  })
  profiler.start()
  const collected = (previous?.profiler.stop()?.statistics ?? []).reduce((sum, { cost }) => sum + cost, 0) / 1000
  const share = previous === undefined ? 0 : collected / (performance.now() - previous.at)
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  const isCollecting = share > 0.5 && used - before < ${GROWN} * limit
  return isCollecting || getBuiltinModule('node:inspector').url() !== undefined
})`

async function wasCollectingOrDebugged(session: Session): Promise<boolean> {
  const expression = `${measure}(${Atomics.load(counter, 1) * MEGABYTE})`
  const { result } = await session.post('Runtime.evaluate', { expression, returnByValue: true })
  return result.value !== false
}

/** Once the event loop turns again. */
async function endMeasurement(): Promise<void> {
  const session = new Session()
  session.connectToMainThread()
  const expression = `globalThis[${KEY}]?.profiler.stop(); delete globalThis[${KEY}]`
  await session.post('Runtime.evaluate', { expression }).catch(() => {})
  session.disconnect()
}
