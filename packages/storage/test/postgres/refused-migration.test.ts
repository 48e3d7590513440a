import t from 'tap'
import { readPortableSets } from '../../src/postgres/dialect.ts'

t.test('statements of PostgreSQL that belong to the engine are refused', async (t) => {
  const read = (text: string) => {
    const directory = t.testdir({ '001-cart.postgres.sql': text, '001-cart.sqlite.sql': '' })
    return readPortableSets([{ module: 'cart', directory, tables: 'cart' }])
  }
  for (const text of [
    'COMMIT',
    'CREATE TABLE cart (id int); /* */ COMMIT; DROP TABLE cart',
    'SET search_path = public',
    'SET/**/LOCAL role postgres',
    'RESET ALL',
    'DISCARD ALL',
    'COPY cart FROM STDIN',
    'LISTEN cart',
    "ALTER ROLE cart SET search_path = 'public'",
    "SELECT set_config('search_path', 'public', false)",
    'CREATE TABLE cart (a int REFERENCES cart DEFERRABLE INITIALLY /* */ DEFERRED)',
    'ALTER TABLE cart ALTER CONSTRAINT cart_key DEFERRABLE INITIALLY DEFERRED',
  ])
    await t.rejects(
      read(text),
      { name: 'MigrationError', message: /001-cart\.postgres\.sql of cart is refused: / },
      text,
    )
  for (const text of [
    '',
    "-- irreversible\nCREATE TABLE cart (id int); -- COMMIT;\nINSERT INTO cart VALUES ('x; COMMIT; ');",
    'CREATE TABLE cart (a int REFERENCES cart DEFERRABLE INITIALLY IMMEDIATE)',
    'CREATE FUNCTION cart() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET x; END; $$; SELECT 1',
    'CREATE NONSENSE',
  ])
    await t.resolves(read(text), text)
})
