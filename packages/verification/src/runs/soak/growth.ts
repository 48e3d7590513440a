import type { ProcessFigures } from '../../harness/measure.ts'

/** The figures of a process, and the number of packages loaded at that time. */
export interface Sample extends ProcessFigures {
  readonly step: number
  readonly packages: number
}

/** Allowed heap growth in bytes per replaced package, and in total with noise. */
const PER_PACKAGE = 100_000
const NOISE = 4_000_000
/** The allowed variation of open files. */
const DESCRIPTORS = 4

/** The growth from `first` to `last`, without the code of new packages: one line each. */
export function growth(first: Sample, last: Sample): string[] {
  const allowed = {
    instances: 0,
    handles: 0,
    listeners: 0,
    descriptors: DESCRIPTORS,
    heap: (last.packages - first.packages) * PER_PACKAGE + NOISE,
  }
  return Object.entries(allowed).flatMap(([name, most]) => {
    const [before, after] = [first, last].map((sample) => sample[name as keyof typeof allowed] ?? 0)
    return (after as number) - (before as number) <= most
      ? []
      : [`${name} went from ${before} at step ${first.step} to ${after} at step ${last.step}`]
  })
}
