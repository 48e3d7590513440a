/** A row of SQLite's schema tables. */
export interface SchemaObject {
  /** 1 for objects of this connection alone. */
  readonly temporary: number
  readonly type: string
  readonly name: string
  /** The table of an index or a trigger; for other objects their own name. */
  readonly table: string
  readonly sql: string | null
}

/** Whether the module with this prefix owns a table, or another object, of that name. */
export function isOwn(prefix: string, name: string): boolean {
  return name === prefix || name.startsWith(`${prefix}_`)
}

/** Undefined for nothing. A module owns `prefix` and `prefix_*`, SQLite `sqlite_…`. */
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
  const previousObjects = new Map(before.filter(foreign).map((object) => [key(object), object]))
  for (const object of after.filter(foreign)) {
    const previous = previousObjects.get(key(object))
    previousObjects.delete(key(object))
    if (previous === undefined) return `makes the ${object.type} "${object.name}" on "${object.table}"`
    if (previous.sql !== object.sql || previous.table !== object.table) {
      return `changes the ${object.type} "${object.name}"`
    }
  }
  const [gone] = previousObjects.values()
  return gone && `drops the ${gone.type} "${gone.name}"`
}
