import SqliteDatabase from 'better-sqlite3'

const methods = ['run', 'get', 'all'] as const

type Ran = (statement: SqliteDatabase.Statement, milliseconds: number) => void

/**
 * Calls `onRan` after each statement of better-sqlite3 in this process.
 * @returns a function that ends it
 */
export function watchStatements(onRan: Ran): () => void {
  const database = new SqliteDatabase(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1'))
  database.close()
  const originals = methods.map((name) => prototype[name])
  for (const [index, name] of methods.entries()) {
    prototype[name] = function (this: SqliteDatabase.Statement, ...values: unknown[]) {
      const begun = performance.now()
      try {
        return originals[index].apply(this, values)
      } finally {
        onRan(this, performance.now() - begun)
      }
    }
  }
  return () => {
    for (const [index, name] of methods.entries()) prototype[name] = originals[index]
  }
}

/** The statements that ran on SQLite in this process since `begin`. */
export interface CountedStatements {
  begin(): void
  /** The texts of the statements on the database in `file`, up to the first COMMIT. */
  on(file: string): string[]
  stop(): void
}

/** Counts all statements of better-sqlite3 in this process, until `stop`. */
export function countStatements(): CountedStatements {
  let ran: SqliteDatabase.Statement[] = []
  const stop = watchStatements((statement) => ran.push(statement))
  return {
    begin() {
      ran = []
    },
    on(file) {
      const texts = ran.filter(({ database }) => database.name === file).map(({ source }) => source)
      const end = texts.indexOf('COMMIT')
      return end === -1 ? texts : texts.slice(0, end + 1)
    },
    stop,
  }
}

/** The names of the B-trees, tables and indexes, that these statements open for writing. */
export function treesWritten(file: string, statements: readonly string[]): string[] {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const roots = new Set<number>()
    for (const text of new Set(statements)) {
      const explained = database.prepare<unknown[], { opcode: string; p2: number; p3: number }>(
        `EXPLAIN ${text}`,
      )
      const values = Array.from(text.matchAll(/\?/g), () => null)
      for (const { opcode, p2, p3 } of explained.all(...values)) {
        if (opcode === 'OpenWrite' && p3 === 0) roots.add(p2)
      }
    }
    const all = database
      .prepare<[], { name: string; rootpage: number }>(
        'SELECT name, rootpage FROM sqlite_schema ORDER BY name',
      )
      .all()
    return all.filter(({ rootpage }) => roots.has(rootpage)).map(({ name }) => name)
  } finally {
    database.close()
  }
}
