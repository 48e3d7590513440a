/** Rows in columns, one line each, whatever characters a caller or a module put into the cells. */
export function table(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, '?')))
  const width = (column: number) => Math.max(...lines.map((line) => line[column]?.length ?? 0))
  const widths = (lines[0] ?? []).map((_, column) => width(column))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
