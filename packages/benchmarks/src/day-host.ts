import { PerformanceObserver } from 'node:perf_hooks'
import { Application } from '@mortise/host/serving'
import { watchStatements } from './count-statements.ts'

// A separate process: the host, in which a minute lasts a second for its jobs. It responds each
// further message with the holds of its event loop since the one before.

export interface Hold {
  /** In milliseconds: elapsed, and CPU time of the event loop's thread. */
  readonly ms: number
  readonly cpu: number
  /** The statements and garbage collections with the largest parts of it, in milliseconds. */
  readonly by: Readonly<Record<string, number>>
}

export interface Holds {
  /** By elapsed time, which includes the disk and the machine's other work. */
  readonly longest: Hold
  /** By CPU time. */
  readonly busiest: Hold
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

const none: Hold = { ms: 0, cpu: 0, by: {} }
const PARTS = 5
let holds: Holds = { longest: none, busiest: none }
let last = performance.now()
let before = process.threadCpuUsage()

start(() => {
  const now = performance.now()
  const ms = now - last - 1
  const { user, system } = process.threadCpuUsage(before)
  const cpu = (user + system) / 1000
  if (ms > holds.longest.ms || cpu > holds.busiest.cpu) {
    const largest = [...parts].toSorted(([, one], [, other]) => other - one).slice(0, PARTS)
    const hold = { ms, cpu, by: Object.fromEntries(largest) }
    holds = {
      longest: ms > holds.longest.ms ? hold : holds.longest,
      busiest: cpu > holds.busiest.cpu ? hold : holds.busiest,
    }
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
  process.send?.(holds)
  holds = { longest: none, busiest: none }
})
process.once('disconnect', () => serving?.then((application) => application.close()))
