/** A title, and rows with a label; a row has a line for each value, and none without values. */
export function listed(
  title: string,
  rows: readonly (readonly [label: string, values: readonly string[]])[],
): string {
  const lines = rows.flatMap(([label, values]) =>
    values.map((value, index) => `  ${(index === 0 ? label : '').padEnd(11)} ${value}`),
  )
  return [title, ...lines].join('\n')
}
