import { PerformanceObserver } from 'node:perf_hooks'
import { Application } from '@mortise/host/serving'
import { watchStatements } from './count-statements.ts'

// A separate process: the host, in which a minute lasts a second for its jobs. It answers each
// further message with the longest hold of its event loop since the one before.

export interface Hold {
  /** In milliseconds: elapsed, and CPU time of the event loop's thread. */
  readonly ms: number
  readonly cpu: number
  /** The statement or the garbage collection with the largest part of it, and that part. */
  readonly by: string
  readonly part: number
}

const MINUTE = 60_000

const start = globalThis.setInterval
globalThis.setInterval = ((work: () => void, ms: number) =>
  start(work, ms === MINUTE ? 1_000 : ms)) as typeof setInterval

/** The time of each statement and collection in this turn of the event loop. */
let parts = new Map<string, number>()
const add = (name: string, ms: number) => parts.set(name, (parts.get(name) ?? 0) + ms)
watchStatements(({ source }, ms) => add(source.replaceAll(/\s+/g, ' ').trim().slice(0, 100), ms))
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) add('garbage collection', duration)
}).observe({ entryTypes: ['gc'] })

const none: Hold = { ms: 0, cpu: 0, by: '', part: 0 }
let longest = none
let last = performance.now()
let before = process.threadCpuUsage()

start(() => {
  const now = performance.now()
  const ms = now - last - 1
  const { user, system } = process.threadCpuUsage(before)
  if (ms > longest.ms) {
    const [by, part] = [...parts].toSorted(([, one], [, other]) => other - one)[0] ?? ['other code', 0]
    longest = { ms, cpu: (user + system) / 1000, by, part }
  }
  parts = new Map()
  last = now
  before = process.threadCpuUsage()
}, 1).unref()

let serving: Promise<Application> | undefined
process.on('message', ({ directory }: { directory: string }) => {
  if (serving === undefined) {
    serving = Application.start({ directory, port: 0, environment: {} })
    serving.then(({ url }) => process.send?.({ url }))
    return
  }
  process.send?.(longest)
  longest = none
})
process.once('disconnect', () => serving?.then((application) => application.close()))
