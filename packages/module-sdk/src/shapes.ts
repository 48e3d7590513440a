import { assertStorable, literal, Sql, type SqlValue } from './sql.ts'

/** The texts of one shape, and what is bound in each place: the index of a value, or a value that is always the same. */
interface Text {
  readonly strings: readonly string[]
  readonly places: readonly (number | Constant)[]
}
interface Constant {
  readonly value: SqlValue
}

interface Shape {
  readonly own: Text
  readonly postgres: Text | undefined
}

/** A value that no statement has of its own. */
const placeholder = (index: number) => `\u{1}place ${index}`

/** How many shapes are remembered. */
const MOST = 200

/**
 * Statements that are composed from fragments: those of one shape differ in their values only, and are
 * composed once. An engine then finds what it has prepared, as it does for a literal statement.
 */
export class Shapes {
  readonly #known = new Map<string, Shape>()

  /**
   * @param shape everything on which the text depends
   * @param compose writes the statement with the values that it is given, each in any number of places
   * @throws {TypeError} as `sql` does
   */
  query(shape: string, values: readonly SqlValue[], compose: (values: readonly SqlValue[]) => Sql): Sql {
    for (const value of values) assertStorable(value)
    const { own, postgres } = this.#known.get(shape) ?? this.#compose(shape, values.length, compose)
    return new Sql(
      own.strings,
      bound(own, values),
      postgres && (() => new Sql(postgres.strings, bound(postgres, values))),
    )
  }

  #compose(shape: string, count: number, compose: (values: readonly SqlValue[]) => Sql): Shape {
    const placeholders = Array.from({ length: count }, (_, index) => placeholder(index))
    const textOf = ({ strings, values }: Sql): Text => ({
      strings: literal(strings),
      places: values.map((value) => {
        const index = placeholders.indexOf(value as string)
        return index === -1 ? { value } : index
      }),
    })
    const query = compose(placeholders)
    const composed = { own: textOf(query), postgres: query.postgres && textOf(query.postgres) }
    if (this.#known.size === MOST) this.#known.clear()
    this.#known.set(shape, composed)
    return composed
  }
}

const bound = ({ places }: Text, values: readonly SqlValue[]): SqlValue[] =>
  places.map((place) => (typeof place === 'number' ? (values[place] as SqlValue) : place.value))
