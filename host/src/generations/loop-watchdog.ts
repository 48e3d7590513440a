import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { LoopWatchRequest, Place } from './loop-watch.ts'

// A thread beside the main one, for as long as a change is watched. Code that holds the event loop keeps the main thread
// from noticing anything: this one counts how long no beat has come, by its own clock, so that a machine that sleeps
// is no such code. It then looks where the main thread is. Only code of a fresh module is put to a change's account.

const { beats, limits, directory, change } = workerData as LoopWatchRequest

/** How often it looks for a beat, in milliseconds. */
const INTERVAL = 100
/** How long the main thread may take to stop where it is, in milliseconds. */
const LOOK_TIMEOUT = 2_000
/** How long a command that has the lock is waited for, in milliseconds. Where it waits for this process, its end frees it. */
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
  if (silent >= limits.blocked && looking === undefined) looking = tell()
  if (silent >= limits.hung && !ending) void end()
}, INTERVAL)

// What was seen is told before: the main thread may have come back meanwhile.
parentPort?.on('message', async () => {
  await looking
  parentPort?.postMessage('over')
})

async function tell(): Promise<Place | undefined> {
  const place = await look()
  if (place !== undefined) parentPort?.postMessage(place)
  return place
}

/** The main thread does not come back: who starts the process again serves what was installed before. */
async function end(): Promise<void> {
  const place = await looking
  if (place === undefined || ending || Atomics.load(counter, 0) !== last) return
  ending = true
  const reason = `${place.module} has held the event loop for ${limits.hung / 1000} s, at ${place.at}`
  say(`The host ends: ${reason}. Start it again: it serves what was installed before.`)
  const { takeBack } = await import('./revert-change.ts')
  const signal = AbortSignal.timeout(LOCK_TIMEOUT)
  await takeBack(directory, change, `${reason}; the host ended itself`, { signal }).catch((error: Error) =>
    say(`The change could not be taken back: ${error.message}`),
  )
  process.kill(process.pid, 'SIGKILL')
}

/** The main thread, which has the log, says nothing any more. */
const say = (text: string) => writeSync(2, `${text}\n`)

/** Where the main thread is, if that is in a fresh module. */
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
