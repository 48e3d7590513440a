type Contents = ReadonlyMap<string, readonly Record<string, unknown>[]>

interface Moments {
  /** With the migration, without it, and with it again. */
  readonly full: Contents
  readonly down: Contents
  readonly again: Contents
}

/** A name or a comment that says that rows go. */
const SAYS_SO = /delet|remov|drop|discard|purge|clean|dedup|merge|forget|expire/i

export function lostRows(
  name: string,
  up: string,
  { full, down, again }: Moments,
): { readonly inDown: boolean; readonly why: string } | undefined {
  const comments = up.match(/--.*$|\/\*[\s\S]*?\*\//gm) ?? []
  if (SAYS_SO.test(name) || comments.some((text) => SAYS_SO.test(text))) return undefined
  for (const [table, rows] of down) {
    const before = full.get(table)
    if (before && rows.length < before.length)
      return {
        inDown: true,
        why: `it loses ${before.length - rows.length} of the ${before.length} rows of "${table}"`,
      }
    const after = again.get(table)
    if (after === undefined) continue
    if (after.length < rows.length)
      return {
        inDown: false,
        why: `it loses ${rows.length - after.length} of the ${rows.length} rows of "${table}"`,
      }
    if (/\bupdate\b/i.test(up) || after.length > rows.length) continue
    const column = changedColumn(rows, after)
    if (column) return { inDown: false, why: `it changes "${column}" of rows in "${table}"` }
  }
  return undefined
}

/** A column of both whose values are others. */
function changedColumn(
  rows: readonly Record<string, unknown>[],
  after: readonly Record<string, unknown>[],
): string | undefined {
  const [first = {}] = after
  return Object.keys(rows[0] ?? {})
    .filter((column) => column in first)
    .find((column) => valuesOf(rows, column) !== valuesOf(after, column))
}

const valuesOf = (rows: readonly Record<string, unknown>[], column: string) =>
  rows
    .map((row) => String(row[column]))
    .sort()
    .join('\n')
