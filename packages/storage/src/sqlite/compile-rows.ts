import type SqliteDatabase from 'better-sqlite3'

/** Only a read or a write of rows may follow it. */
const BEFORE = 'WITH mortise_judged AS (SELECT 1) '

/** What a statement begins with, according to the grammar of SQLite, unless it reads or writes rows. */
const WORDS = new Set([
  ...['ALTER', 'ANALYZE', 'ATTACH', 'BEGIN', 'COMMIT', 'CREATE', 'DETACH', 'DROP', 'END', 'EXPLAIN'],
  ...['PRAGMA', 'REINDEX', 'RELEASE', 'ROLLBACK', 'SAVEPOINT', 'VACUUM', ';'],
])

/**
 * Compiles a statement that reads or writes rows. Nothing else runs: SQLite stops at the first word,
 * while it runs some pragmas as soon as it has read them.
 * @returns the first word of any other statement, and the error of an invalid one
 */
export function compileRows(
  database: SqliteDatabase.Database,
  text: string,
): SqliteDatabase.Statement | string | Error {
  const compiled = compile(database, BEFORE + text)
  const word = compiled instanceof Error ? unexpected(compiled) : undefined
  if (word === 'WITH') return compile(database, text)
  return word !== undefined && WORDS.has(word) ? word : compiled
}

export function compile(database: SqliteDatabase.Database, text: string): SqliteDatabase.Statement | Error {
  try {
    return database.prepare(text)
  } catch (error) {
    return error as Error
  }
}

/** The word at which SQLite stopped, in capitals. */
function unexpected({ message }: Error): string | undefined {
  const [begin, end] = ['near "', '": syntax error']
  if (!message.startsWith(begin) || !message.endsWith(end)) return undefined
  return message.slice(begin.length, -end.length).toUpperCase()
}
