import type { Sample } from '../../harness/figures.ts'

/** Bytes of heap that may stay per replaced package, and in all: measured by `npm run retention`, and some noise. */
const PER_PACKAGE = 100_000
const NOISE = 4_000_000
/** Open files at one moment may be some more than at another. */
const DESCRIPTORS = 4

/** What there is more of in `last` than in `first`, apart from the code of the packages in between: one line each. */
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
