/** A row of SQLite's schema tables. */
export interface SchemaObject {
  /** 1 for what only this connection has. */
  readonly temporary: number
  readonly type: string
  readonly name: string
  /** The table that an index or a trigger belongs to; for others their own name. */
  readonly table: string
  readonly sql: string | null
}

/** Whether the module whose prefix this is owns a table, or whatever else, of that name. */
export function isOwn(prefix: string, name: string): boolean {
  return name === prefix || name.startsWith(`${prefix}_`)
}

/**
 * What a migration did to things that are not its module's, in words; undefined where it did nothing. A
 * module owns `prefix` and `prefix_*`; names that begin with `sqlite_` are SQLite's own.
 */
export function foreignChange(
  prefix: string,
  before: readonly SchemaObject[],
  after: readonly SchemaObject[],
): string | undefined {
  const foreign = ({ name, table }: SchemaObject) =>
    !(name.startsWith('sqlite_') || isOwn(prefix, name)) ||
    !(table.startsWith('sqlite_') || isOwn(prefix, table))

  const temporary = after.find((object) => object.temporary === 1)
  if (temporary !== undefined) return `makes the temporary ${temporary.type} "${temporary.name}"`
  // A trigger and a table may share a name.
  const key = ({ type, name }: SchemaObject) => `${type} ${name}`
  const formerly = new Map(before.filter(foreign).map((object) => [key(object), object]))
  for (const object of after.filter(foreign)) {
    const former = formerly.get(key(object))
    formerly.delete(key(object))
    if (former === undefined) return `makes the ${object.type} "${object.name}" on "${object.table}"`
    if (former.sql !== object.sql || former.table !== object.table) {
      return `changes the ${object.type} "${object.name}"`
    }
  }
  const [gone] = formerly.values()
  return gone && `drops the ${gone.type} "${gone.name}"`
}
