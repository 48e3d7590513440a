/** The summary of all rounds' ratios. */
export interface Ratios {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** @param ratios one per round, at least one */
export function summarize(ratios: readonly number[]): Ratios {
  if (ratios.length === 0) throw new RangeError('there is no median of nothing: measure at least one round')
  const sorted = ratios.toSorted((one, other) => one - other)
  const middle = (sorted.length - 1) / 2
  const median = ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2
  return { median, least: sorted[0] as number, most: sorted.at(-1) as number }
}
