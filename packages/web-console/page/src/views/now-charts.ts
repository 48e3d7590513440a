import { bytes, count } from '../format.ts'
import { texts } from '../texts.ts'

const t = texts.now

/** Rates are per second, times in ms, sizes in bytes. */
export interface Sample {
  readonly at: string
  readonly requests?: number
  readonly errors?: number
  readonly p50?: number | null
  readonly p99?: number | null
  readonly cpu?: number
  readonly loop?: number
  readonly heap?: number
  readonly rss?: number
  readonly commits?: number
  readonly writes?: number
  readonly lag?: number
  readonly jobs?: number
  readonly database?: number | null
  readonly disk?: number | null
  readonly modules?: Readonly<Record<string, { readonly requests: number; readonly busy: number }>>
}

export interface Now {
  readonly every: number
  readonly samples: readonly Sample[]
}

export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
}

export interface ChartOf {
  readonly title: string
  readonly series: readonly Series[]
  format(value: number): string
}

type Key = {
  [Name in keyof Sample]-?: Sample[Name] extends number | null | undefined ? Name : never
}[keyof Sample]

const rate = (value: number) =>
  `${value < 10 ? Number(value.toFixed(1)) : count(Math.round(value))}${t.perSecond}`
const milliseconds = (value: number) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ms`
const share = (value: number) => `${Number((value * 100).toFixed(value < 0.1 ? 1 : 0))} %`
const whole = (value: number) => count(Math.round(value))

const charts: readonly (readonly [
  keyof typeof t.charts,
  readonly (Key & keyof typeof t.series)[],
  (value: number) => string,
])[] = [
  ['requests', ['requests', 'errors'], rate],
  ['latency', ['p50', 'p99'], milliseconds],
  ['cpu', ['cpu', 'loop'], share],
  ['memory', ['heap', 'rss'], bytes],
  ['commits', ['writes', 'commits'], rate],
  ['lag', ['lag'], whole],
  ['jobs', ['jobs'], whole],
  ['storage', ['database', 'disk'], bytes],
]

/** The charts whose series the host measures. */
export function chartsOf({ samples }: Now): readonly ChartOf[] {
  const found = charts.map(([title, keys, format]) => ({
    title: t.charts[title],
    format,
    series: keys
      .filter((key) => samples.some((sample) => typeof sample[key] === 'number'))
      .map((key) => ({ name: t.series[key], values: samples.map((sample) => sample[key] ?? null) })),
  }))
  const [requests, latency, cpu, ...others] = found
  return [requests, latency, cpu, byModule(samples), ...others].filter(
    (chart) => chart !== undefined && chart.series.length > 0,
  ) as readonly ChartOf[]
}

/** The busiest five: more look alike. */
function byModule(samples: readonly Sample[]): ChartOf {
  const sums = new Map<string, number>()
  for (const { modules = {} } of samples) {
    for (const [id, { busy }] of Object.entries(modules)) sums.set(id, (sums.get(id) ?? 0) + busy)
  }
  const busiest = [...sums].sort(([, one], [, other]) => other - one).slice(0, 5)
  return {
    title: t.charts.cpuBy,
    format: share,
    series: busiest.map(([id]) => ({
      name: id,
      values: samples.map(({ modules }) => modules?.[id]?.busy ?? null),
    })),
  }
}

export interface Tile {
  readonly name: string
  readonly value: string
  readonly unit?: string
}

/** The latest of each. */
export function tilesOf({ samples }: Now): readonly Tile[] {
  const last = samples.at(-1) ?? ({} as Sample)
  const tile = (name: string, value: number | null | undefined, format: (value: number) => string): Tile[] =>
    value === undefined || value === null ? [] : [{ name, value: format(value) }]
  return [
    ...tile(t.tiles.requests, last.requests, rate),
    ...tile(t.tiles.errors, last.errors, rate),
    ...tile(t.tiles.p99, samples.findLast(({ p99 }) => p99 != null)?.p99, milliseconds),
    ...tile(t.charts.cpu, last.cpu, share),
    ...tile(t.charts.memory, last.rss, bytes),
    ...tile(t.tiles.lag, last.lag, whole),
    ...tile(t.tiles.jobs, last.jobs, whole),
    ...tile(t.tiles.database, last.database, bytes),
    ...tile(t.tiles.disk, last.disk, bytes),
  ]
}
