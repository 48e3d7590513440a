/**
 * Statements that would take the transaction, the connection or the file away from a storage
 * engine. Their text decides, without comments, string literals and quoted names, whose words are
 * no keywords.
 */
const OPAQUE = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|(\$\w*\$)[\s\S]*?\1/g

// SQLite skips leading semicolons, and runs some pragmas even under EXPLAIN.
const FIRST_WORD = /^[\s;]*(?:EXPLAIN\s+(?:QUERY\s+PLAN\s+)?)?([A-Z]+)/i
const REFUSED_FIRST_WORDS = new Set([
  'BEGIN',
  'COMMIT',
  'END',
  'ROLLBACK',
  'SAVEPOINT',
  'RELEASE',
  'PRAGMA',
  'ATTACH',
  'DETACH',
  'VACUUM',
  // Of PostgreSQL.
  'START',
  'ABORT',
  'PREPARE',
  'EXECUTE',
  'DEALLOCATE',
  'DISCARD',
  'SET',
  'RESET',
  'LISTEN',
  'UNLISTEN',
  'COPY',
])
const ENDS_TRANSACTION = /\b(?:OR|CONFLICT)\s+ROLLBACK\b|\bRAISE\s*\(\s*ROLLBACK\b/i
const DEFERRED_KEY = /\bINITIALLY\s+DEFERRED\b/i
const CREATE_TRIGGER = /^\s*CREATE\s+(?:TEMP\s+|TEMPORARY\s+)?TRIGGER\b/i

/** The reason why a module may not run this statement; undefined if it may. */
export function refusedStatement(text: string): string | undefined {
  return refusal(skeleton(text))
}

/**
 * The reason why this migration may not run; undefined if it may. `text` holds any number of
 * statements.
 */
export function refusedMigration(text: string): string | undefined {
  const bare = skeleton(text)
  if (DEFERRED_KEY.test(bare)) {
    return 'INITIALLY DEFERRED keys fail only at COMMIT, together with other transactions: leave the words out'
  }
  for (const statement of splitStatements(bare)) {
    const reason = refusal(statement)
    if (reason !== undefined) return reason
  }
  return undefined
}

function refusal(bare: string): string | undefined {
  const word = FIRST_WORD.exec(bare)?.[1]?.toUpperCase()
  if (word !== undefined && REFUSED_FIRST_WORDS.has(word)) {
    return `${word} belongs to the storage engine: leave it out`
  }
  if (ENDS_TRANSACTION.test(bare)) {
    return 'ROLLBACK as a conflict resolution would end other transactions: use ABORT, the default'
  }
  return undefined
}

function skeleton(text: string): string {
  return text.replace(OPAQUE, (part) => (part.startsWith('--') || part.startsWith('/*') ? ' ' : "''"))
}

/** The body of a trigger contains semicolons; it ends with a separate END. */
function splitStatements(bare: string): string[] {
  const statements: string[] = []
  let trigger: string | undefined
  for (const part of bare.split(';')) {
    if (trigger !== undefined) {
      trigger += `;${part}`
      if (/^\s*END\s*$/i.test(part)) {
        statements.push(trigger)
        trigger = undefined
      }
    } else if (CREATE_TRIGGER.test(part)) {
      trigger = part
    } else {
      statements.push(part)
    }
  }
  if (trigger !== undefined) statements.push(trigger)
  return statements
}
