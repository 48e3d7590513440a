// The schema of an application may also have tables and views of other roles: for reports, of
// another program. A relation is the application's if a migration may have made it: its name is one
// of a module or of the host, and its owner is the role of the ledger, a member of it, or a role that
// one of them, or the session, is a member of.

/** SQL: whether the role owns objects of the application. */
const isOwnRole = (role: string) => `EXISTS (
  SELECT FROM pg_class AS ledger WHERE ledger.oid = to_regclass('mortise_migration') AND (
    ${role} = ledger.relowner OR pg_has_role(${role}, ledger.relowner, 'MEMBER')
    OR pg_has_role(ledger.relowner, ${role}, 'MEMBER') OR pg_has_role(${role}, 'MEMBER')))`

/** The relations of other roles in the schema of the session. */
export const RELATIONS_OF_OTHERS = `
  SELECT c.relname::text AS name FROM pg_class AS c
  WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
    AND to_regclass('mortise_migration') IS NOT NULL AND NOT ${isOwnRole('c.relowner')}`

/**
 * SQL: whether the relation `c` of pg_class is the application's, by the prefixes of its modules.
 * Everything is, if they are null.
 * @param prefixes the placeholder of `readPrefixes`
 */
export const isOwnRelation = (prefixes: string) => `(${prefixes}::text[] IS NULL OR (
  c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND ${isOwnRole('c.relowner')}
  AND EXISTS (SELECT FROM unnest(${prefixes}::text[]) AS prefix
    WHERE c.relname = prefix OR starts_with(c.relname::text, prefix || '_'))))`
