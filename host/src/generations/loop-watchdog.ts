import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { LoopWatchRequest, Place } from './loop-watch.ts'

// A thread beside the main one, while a change is watched. Code that blocks the event loop also
// blocks the main thread's own checks. This thread counts the time without a heartbeat by its own
// clock, so a machine that sleeps does not count. Then it looks where the main thread is. Only code
// of a fresh module counts against the change.

const { beats, limits, directory, change } = workerData as LoopWatchRequest

/** How often it checks for a heartbeat, in milliseconds. */
const INTERVAL = 100
/** How long the main thread may take to pause, in milliseconds. */
const LOOK_TIMEOUT = 2_000
/** In milliseconds. A command that waits for this process is freed by its end. */
const LOCK_TIMEOUT = 5_000

const counter = new Int32Array(beats)
let last = Atomics.load(counter, 0)
let silent = 0
let looking: Promise<Place | undefined> | undefined
let ending = false

setInterval(() => {
  const beat = Atomics.load(counter, 0)
  if (beat !== last) {
    last = beat
    silent = 0
    looking = undefined
    return
  }
  silent += INTERVAL
  if (silent >= limits.blocked && looking === undefined) looking = report()
  if (silent >= limits.hung && !ending) void end()
}, INTERVAL)

// Reports earlier results first: the main thread may have continued meanwhile.
parentPort?.on('message', async () => {
  await looking
  parentPort?.postMessage('over')
})

async function report(): Promise<Place | undefined> {
  const place = await look()
  if (place !== undefined) parentPort?.postMessage(place)
  return place
}

/** The main thread does not return: the next start serves what was installed before. */
async function end(): Promise<void> {
  const place = await looking
  if (place === undefined || ending || Atomics.load(counter, 0) !== last) return
  ending = true
  const reason = `${place.module} has blocked the event loop for ${limits.hung / 1000} s, at ${place.at}`
  say(`The host ends: ${reason}. Start it again: it serves the previous generation.`)
  const { revertChange } = await import('./revert-change.ts')
  const signal = AbortSignal.timeout(LOCK_TIMEOUT)
  await revertChange(directory, change, `${reason}; the host ended itself`, { signal }).catch(
    (error: Error) => say(`The change cannot be reverted: ${error.message}`),
  )
  process.kill(process.pid, 'SIGKILL')
}

/** The main thread, which has the log, is blocked. */
const say = (text: string) => writeSync(2, `${text}\n`)

/** Where the main thread is, if in a fresh module. */
async function look(): Promise<Place | undefined> {
  const session = new Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => void urls.set(params.scriptId, params.url))
  const paused = new Promise<Place | undefined>((resolve) => {
    session.on('Debugger.paused', ({ params }) => {
      const frames = params.callFrames.map(({ location }) => ({
        path: pathOf(urls.get(location.scriptId)),
        line: location.lineNumber + 1,
      }))
      session.post('Debugger.resume')
      resolve(placeIn(frames))
    })
  })
  try {
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    return await Promise.race([paused, pause(LOOK_TIMEOUT, undefined)])
  } finally {
    session.post('Debugger.disable')
    session.disconnect()
  }
}

const pathOf = (url = '') => (url.startsWith('file://') ? fileURLToPath(url) : url)

function placeIn(frames: readonly { path: string; line: number }[]): Place | undefined {
  for (const { path, line } of frames) {
    const found = Object.entries(change.fresh).find(([, folder]) => path.startsWith(`${folder}/`))
    if (found) return { module: found[0], at: `${path.slice(found[1].length + 1)}:${line}` }
  }
  return undefined
}
