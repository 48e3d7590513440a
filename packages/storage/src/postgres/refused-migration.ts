import { findNode, kindOf, loadParser, type Node, nameOf } from './parse-sql.ts'

/** Statements that would take the transaction or the session away, or change those of others. */
const OF_ENGINE: Readonly<Record<string, string>> = {
  TransactionStmt: 'BEGIN, COMMIT, ROLLBACK or SAVEPOINT',
  VariableSetStmt: 'SET or RESET',
  AlterRoleSetStmt: 'ALTER ROLE … SET',
  AlterDatabaseSetStmt: 'ALTER DATABASE … SET',
  AlterSystemStmt: 'ALTER SYSTEM',
  ConstraintsSetStmt: 'SET CONSTRAINTS',
  DiscardStmt: 'DISCARD',
  ListenStmt: 'LISTEN',
  UnlistenStmt: 'UNLISTEN',
  CopyStmt: 'COPY',
  PrepareStmt: 'PREPARE',
  ExecuteStmt: 'EXECUTE',
  DeallocateStmt: 'DEALLOCATE',
  VacuumStmt: 'VACUUM or ANALYZE',
}

/** The reason why this migration may not run; undefined if it may, or is invalid. */
export async function refusedMigration(text: string): Promise<string | undefined> {
  const parse = await loadParser()
  let statements: Node[]
  try {
    statements = parse(text)
  } catch {
    return undefined // the server says where, when it runs
  }
  for (const statement of statements) {
    const words = OF_ENGINE[kindOf(statement)[0]]
    if (words !== undefined) return `${words} belongs to the storage engine: leave it out`
    if (findNode(statement, isDeferred))
      return 'INITIALLY DEFERRED keys fail only at COMMIT, together with other transactions: leave the words out'
    if (
      findNode(statement, ({ funcname }) => funcname !== undefined && nameOf(funcname).name === 'set_config')
    )
      return 'set_config() changes the session, which belongs to the storage engine: leave it out'
  }
  return undefined
}

const isDeferred = ({ initdeferred, contype }: Node) =>
  initdeferred === true || contype === 'CONSTR_ATTR_DEFERRED'
