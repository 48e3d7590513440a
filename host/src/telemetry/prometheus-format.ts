/** The metrics of one name, in Prometheus' model and between processes. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the values of several processes of one host are merged. */
  readonly merge: 'sum' | 'min' | 'max'
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** Appended to the family's name: `_bucket` and the like. */
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** In Prometheus' text format, version 0.0.4. */
export function toText(families: readonly MetricFamily[]): string {
  return families.map(textOf).join('')
}

export const textFormat = 'text/plain; version=0.0.4; charset=utf-8'

function textOf({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${textOfLabels(labels)} ${value}`,
  )
  return `${[`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')}\n`
}

function textOfLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

/** Merges the metrics of several processes, including those that only some have. */
export function mergeFamilies(processes: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const byName = new Map<string, MetricFamily[]>()
  for (const family of processes.flat()) byName.set(family.name, [...(byName.get(family.name) ?? []), family])
  return Array.from(byName.values(), mergeAlike)
}

function mergeAlike(families: readonly MetricFamily[]): MetricFamily {
  const [first] = families as readonly [MetricFamily]
  const merged = new Map<string, Sample>()
  for (const sample of families.flatMap(({ samples }) => samples)) {
    const key = `${sample.suffix ?? ''}${textOfLabels(sample.labels ?? {})}`
    const previous = merged.get(key)
    const value = previous === undefined ? sample.value : together[first.merge](previous.value, sample.value)
    merged.set(key, { ...sample, value })
  }
  return { ...first, samples: [...merged.values()] }
}

const together = { sum: (one: number, other: number) => one + other, min: Math.min, max: Math.max }

/** One value, or several with different labels. */
type Values = number | readonly Sample[]

export const counter = (name: string, help: string, values: Values): MetricFamily =>
  family('counter', name, help, 'sum', values)

export const histogram = (name: string, help: string, samples: readonly Sample[]): MetricFamily =>
  family('histogram', name, help, 'sum', samples)

export const gauge = (
  name: string,
  help: string,
  merge: MetricFamily['merge'],
  values: Values,
): MetricFamily => family('gauge', name, help, merge, values)

function family(
  type: MetricFamily['type'],
  name: string,
  help: string,
  merge: MetricFamily['merge'],
  values: Values,
): MetricFamily {
  return { name, help, type, merge, samples: typeof values === 'number' ? [{ value: values }] : values }
}
