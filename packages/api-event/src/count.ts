/** Adds `by` to the count of `key`. A count of zero is deleted, so that the map does not grow. */
export function count(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const total = (counts.get(key) ?? 0) + by
  if (total > 0) counts.set(key, total)
  else counts.delete(key)
}
