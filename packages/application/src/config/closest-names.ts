/** The names that `name` may be a typo of, nearest first: a few edits apart, or within it. */
export function nearest(name: string, known: Iterable<string>): string[] {
  return [...new Set(known)]
    .map((candidate) => ({ candidate, distance: distanceOf(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .map(({ candidate }) => candidate)
}

function distanceOf(name: string, candidate: string): number {
  if (name.length >= 3 && (candidate.includes(name) || name.includes(candidate))) return 1
  return editDistance(name, candidate)
}

/** Levenshtein distance: insertions, deletions and replacements from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
