/** A part of a table, such as a column or an index. */
export interface TablePart {
  readonly table: string
  /** `column "id"`; `table` for the table itself. */
  readonly part: string
  /** What the engine says about it: the type of a column, the text of a trigger. */
  readonly details: string
}

export interface ChangedTables {
  readonly module: string
  /** Clauses: `the table "cart" is missing`. */
  readonly differences: readonly string[]
}

/** A module whose tables could not be compared. */
export interface UncheckedTables {
  readonly module: string
  /** A clause. */
  readonly reason: string
  /** A sentence: what makes the comparison possible. */
  readonly remedy: string
}

export interface ComparedTables {
  readonly changed: readonly ChangedTables[]
  readonly unchecked: readonly UncheckedTables[]
}

/**
 * How the tables of a module differ from what its migrations make. Other indexes and
 * triggers than theirs are no difference.
 * @param actual also those of others
 */
export function compareParts(
  module: string,
  expected: readonly TablePart[],
  actual: readonly TablePart[],
): ChangedTables[] {
  const tables = new Set(expected.filter(({ part }) => part === 'table').map(({ table }) => table))
  const present = new Map(actual.map((part) => [nameOf(part), part]))
  const known = new Set(expected.map(nameOf))
  const missing = [...tables].filter((table) => !present.has(nameOf({ table, part: 'table' })))
  const differences = missing.map((table) => `the table "${table}" is missing`)
  for (const wanted of expected) {
    if (missing.includes(wanted.table)) continue
    const found = present.get(nameOf(wanted))
    if (found === undefined) differences.push(`the ${nameOf(wanted)} is missing`)
    else if (found.details !== wanted.details)
      differences.push(`the ${nameOf(wanted)} ${change(wanted, found)}`)
  }
  const added = actual.filter(
    (part) => tables.has(part.table) && part.part.startsWith('column') && !known.has(nameOf(part)),
  )
  differences.push(...added.map((part) => `the ${nameOf(part)} was added`))
  return differences.length === 0 ? [] : [{ module, differences }]
}

const nameOf = ({ table, part }: Pick<TablePart, 'table' | 'part'>) => `${part} of "${table}"`

const change = (wanted: TablePart, found: TablePart) =>
  /^(?:trigger|definition)/.test(wanted.part)
    ? 'has another text'
    : `is ${found.details} instead of ${wanted.details}`
