import t from 'tap'
import { refusedMigration, refusedStatement } from '../../src/port/refused-sql.ts'

t.test('statements that belong to the engine are refused', async (t) => {
  for (const text of [
    'BEGIN',
    'begin immediate',
    ' COMMIT;',
    'End Transaction',
    'ROLLBACK TO member',
    'SAVEPOINT a',
    'RELEASE member',
    'PRAGMA foreign_keys = OFF',
    "ATTACH 'other.db' AS other",
    'DETACH other',
    'VACUUM',
    'START TRANSACTION',
    'ABORT',
    'SET search_path = public',
    'reset all',
    'DISCARD ALL',
    "PREPARE TRANSACTION 'a'",
    '-- hello\nCOMMIT',
    '/* hello */ COMMIT',
    '/**/;; /* ; */ COMMIT',
    '\ufeffCOMMIT',
    'EXPLAIN PRAGMA foreign_keys = OFF',
    'explain query  plan PRAGMA foreign_keys = OFF',
    'INSERT OR ROLLBACK INTO item VALUES (1)',
    'UPDATE OR/* */ROLLBACK item SET id = 1',
    'CREATE TABLE item (id INTEGER UNIQUE ON CONFLICT\nROLLBACK)',
    "CREATE TRIGGER a AFTER INSERT ON item BEGIN SELECT RAISE (ROLLBACK, 'no'); END",
  ]) {
    t.type(refusedStatement(text), 'string', text)
  }
})

t.test('the same words as data, names and comments are not', async (t) => {
  for (const text of [
    "SELECT 'it''s; COMMIT' -- PRAGMA",
    'SELECT "begin" FROM item /* ; ROLLBACK */',
    'SELECT [or rollback], `commit` FROM item',
    "INSERT INTO note VALUES ('INSERT OR ROLLBACK')",
    'INSERT OR IGNORE INTO item VALUES (1)',
    'INSERT INTO item VALUES (1) ON CONFLICT DO NOTHING',
    'SELECT CASE WHEN 1 THEN 2 END',
    'EXPLAIN QUERY PLAN SELECT 1',
    'WITH a AS (SELECT 1) SELECT * FROM a',
    "SELECT 'a' -- it's",
    'SELECT $$; COMMIT$$, $a$ ; SET $$ $a$',
  ]) {
    t.equal(refusedStatement(text), undefined, text)
  }
})

t.test('a migration of several statements is judged statement by statement', async (t) => {
  for (const text of [
    'CREATE TABLE a (id); COMMIT; DROP TABLE b',
    'CREATE TABLE a (id);\nPRAGMA foreign_keys = OFF;',
    'CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; END; END;',
    'CREATE TABLE a (b REFERENCES c DEFERRABLE INITIALLY /* */ DEFERRED)',
  ]) {
    t.type(refusedMigration(text), 'string', text)
  }
  for (const text of [
    '',
    "-- irreversible\nCREATE TABLE a (id); -- COMMIT;\nINSERT INTO a VALUES ('x; COMMIT; ');",
    'CREATE TEMP TRIGGER a AFTER INSERT ON b BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 2; END; SELECT 1;',
    'CREATE TABLE a (b REFERENCES c DEFERRABLE INITIALLY IMMEDIATE)',
    'CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET x; END; $$; SELECT 1',
  ]) {
    t.equal(refusedMigration(text), undefined, text)
  }
})
