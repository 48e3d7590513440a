import { DatabaseError } from '@mortise/module-sdk/transaction'

/**
 * Makes a row from its values, in the order of the columns.
 * @throws {DatabaseError}
 */
export type RowReader = (values: readonly unknown[]) => unknown

/**
 * Compiles the reader of a statement's rows: one object literal, so that all rows of the statement
 * have one shape, with a check of each number. An integer that a number cannot hold exactly fails
 * the statement instead of being rounded. Compared with a loop over the keys of the driver's own
 * objects this halves the cost of a read.
 */
export function compileRowReader(columns: readonly string[], text: string): RowReader {
  const refuse = (column: string): never => {
    throw new DatabaseError(
      'other',
      `column "${column}" is beyond ±(2^53 - 1) and would be rounded: select CAST(… AS TEXT). ` +
        `The statement: ${text.trim()}`,
    )
  }
  const limit = Number.MAX_SAFE_INTEGER
  const checks = columns.map(
    (column, index) =>
      `const v${index} = values[${index}]
       if (typeof v${index} === 'number' && (v${index} > ${limit} || v${index} < -${limit})) refuse(${JSON.stringify(column)})`,
  )
  // A computed key, since a literal "__proto__" would set the prototype.
  const fields = columns.map((column, index) => {
    const key = JSON.stringify(column)
    return `${column === '__proto__' ? `[${key}]` : key}: v${index}`
  })
  const source = `return (values) => { ${checks.join('\n')}\nreturn { ${fields.join(', ')} } }`
  return new Function('refuse', source)(refuse)
}
