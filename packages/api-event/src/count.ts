/** Counts `by` more of what `key` names; what there is none of is forgotten. */
export function count(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const total = (counts.get(key) ?? 0) + by
  if (total > 0) counts.set(key, total)
  else counts.delete(key)
}
