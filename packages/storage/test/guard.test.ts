import { sql } from '@mortise/module-sdk'
import { Sql } from '@mortise/module-sdk/sql'
import { type Open, testOnEngines, testOnPostgres } from './engines.ts'

const SCHEMA = `
  CREATE TABLE note (id INTEGER PRIMARY KEY, cart TEXT, at BIGINT);
  CREATE TABLE note_line (id INTEGER PRIMARY KEY, cart_id TEXT UNIQUE, size BIGINT);
  CREATE VIEW note_all AS SELECT id FROM note;
  CREATE TABLE cart (id INTEGER PRIMARY KEY, note_id BIGINT);
  CREATE TABLE cart_item (id INTEGER PRIMARY KEY);
  CREATE VIEW cart_all AS SELECT id FROM cart;
  CREATE TABLE mortise_guest (id INTEGER PRIMARY KEY);
`

/** A `?` is a value. */
const query = (text: string) => {
  const strings = text.split('?')
  return new Sql(strings, Array(strings.length - 1).fill(null))
}

async function verdictsOf(open: Open, schema = SCHEMA) {
  const storage = await open(schema)
  const guard = await storage.guard('note')
  return (text: string) => {
    const offence = guard.offence(query(text))
    return offence && ('table' in offence ? offence.table : offence.reason)
  }
}

testOnEngines('a table of others is found, however a statement names it', async (t, open, engine) => {
  const verdict = await verdictsOf(open)
  const each: [string, string][] = [
    ['SELECT * FROM cart', 'cart'],
    ['SELECT * FROM CART', 'cart'],
    ['SELECT * FROM cart_all', 'cart_all'],
    ['select * from\n /* note */ "cart_item" where ? = ?', 'cart_item'],
    ['SELECT 1 FROM note JOIN cart ON cart.id = note.id', 'cart'],
    ['SELECT note.id FROM note LEFT JOIN cart ON cart.id = note.id', 'cart'],
    ['SELECT 1 FROM note, cart', 'cart'],
    ['SELECT 1 FROM note NATURAL JOIN (cart_item CROSS JOIN note_line)', 'cart_item'],
    ['SELECT (SELECT count(*) FROM mortise_guest) FROM note', 'mortise_guest'],
    ['SELECT id FROM note WHERE id IN (SELECT note_id FROM cart)', 'cart'],
    ['SELECT id FROM note ORDER BY (SELECT max(id) FROM cart)', 'cart'],
    ['SELECT id FROM note GROUP BY id HAVING EXISTS (SELECT 1 FROM cart)', 'cart'],
    ['SELECT id FROM note LIMIT (SELECT count(*) FROM cart)', 'cart'],
    ['SELECT id FROM note UNION ALL SELECT id FROM cart', 'cart'],
    ['WITH one AS (SELECT 1 AS id), two AS (SELECT id FROM cart) SELECT * FROM two', 'cart'],
    ['WITH one AS (WITH cart AS (SELECT 1 AS id) SELECT id FROM cart) SELECT id FROM cart', 'cart'],
    ['INSERT INTO cart (id) VALUES (?)', 'cart'],
    ['WITH cart AS (SELECT 1 AS id) INSERT INTO cart (id) SELECT id FROM cart', 'cart'],
    ['INSERT INTO note (id) SELECT id FROM cart', 'cart'],
    ['INSERT INTO note (id) VALUES ((SELECT max(id) FROM cart))', 'cart'],
    ['INSERT INTO note (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET at = (SELECT 1 FROM cart)', 'cart'],
    ['INSERT INTO note (id) VALUES (?) RETURNING (SELECT count(*) FROM cart)', 'cart'],
    ['UPDATE cart SET note_id = ?', 'cart'],
    ['UPDATE note SET at = cart.id FROM cart WHERE cart.id = note.id', 'cart'],
    ['DELETE FROM cart', 'cart'],
    ['DELETE FROM note WHERE id = (SELECT note_id FROM cart)', 'cart'],
    ['WITH gone AS (SELECT id FROM cart) DELETE FROM note WHERE id IN (SELECT id FROM gone)', 'cart'],
  ]
  const own: Record<string, [string, string][]> = {
    sqlite: [
      ['SELECT * FROM main.cart', 'cart'],
      ['SELECT * FROM "main"."cart"', 'cart'],
      ['SELECT * FROM main./**/cart', 'cart'],
      ['SELECT * FROM [cart]', 'cart'],
      ['SELECT * FROM `cart`', 'cart'],
      ["SELECT * FROM 'cart'", 'cart'],
      ['REPLACE INTO cart (id) VALUES (?)', 'cart'],
      ['UPDATE OR IGNORE cart SET id = ?', 'cart'],
      ['SELECT 1 FROM note JOIN cart USING (id)', 'cart'],
    ],
    postgres: [
      ['TABLE cart', 'cart'],
      ['SELECT * FROM ONLY (cart)', 'cart'],
      ['SELECT * FROM cart *', 'cart'],
      ['SELECT * FROM U&"c\\0061rt"', 'cart'],
      ['SELECT * FROM U&"c!0061rt" UESCAPE \'!\'', 'cart'],
      ['SELECT * FROM cart TABLESAMPLE SYSTEM (1)', 'cart'],
      ['SELECT * FROM note, LATERAL (SELECT id FROM cart WHERE cart.id = note.id) AS one', 'cart'],
      ['WITH cart AS (SELECT * FROM cart) SELECT * FROM cart', 'cart'],
      ['WITH gone AS (DELETE FROM cart RETURNING id) SELECT id FROM gone', 'cart'],
      ['DELETE FROM note USING cart WHERE cart.id = note.id', 'cart'],
      ['MERGE INTO cart USING note ON note.id = cart.id WHEN MATCHED THEN DELETE', 'cart'],
      ['MERGE INTO note USING cart ON note.id = cart.id WHEN MATCHED THEN DELETE', 'cart'],
      ['SELECT * FROM public.note', 'public.note'],
      ['SELECT * FROM public."note"', 'public.note'],
      ['UPDATE pg_settings SET setting = ?', 'pg_settings'],
      ['DELETE FROM pg_catalog.pg_class', 'pg_catalog.pg_class'],
      ["SELECT nextval('cart_id_seq')", 'cart_id_seq'],
      [`SELECT setval('"cart_id_seq"'::regclass, ?)`, 'cart_id_seq'],
      ["SELECT pg_relation_size('cart')", 'cart'],
    ],
  }
  for (const [text, table] of [...each, ...(own[engine] ?? [])]) t.equal(verdict(text), table, text)
})

testOnEngines('own tables, the catalogue and plain functions are not', async (t, open, engine) => {
  const verdict = await verdictsOf(open)
  const each = [
    'SELECT cart, cart AS "cart" FROM note ORDER BY id, cart',
    "SELECT ' FROM cart; COMMIT' FROM note -- FROM cart",
    'SELECT id FROM note_all',
    'SELECT cart.id FROM note AS cart JOIN note_line AS cart_item ON cart.id = cart_item.id',
    'WITH cart AS (SELECT 1 AS id FROM note) SELECT * FROM cart',
    'WITH RECURSIVE cart AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM cart WHERE id < ?) SELECT * FROM cart',
    'WITH a AS (SELECT 1 AS id), cart AS (SELECT id FROM a) SELECT id FROM note WHERE id IN (SELECT id FROM cart)',
    'INSERT INTO note_line (cart_id) VALUES (?) ON CONFLICT (cart_id) DO UPDATE SET size = 1 RETURNING id',
    'SELECT 1 FROM note WHERE at IS DISTINCT FROM id',
    'SELECT 1 FROM note JOIN note_line USING (id)',
    'SELECT CASE WHEN ? THEN 2 END',
    'UPDATE note SET at = note_line.size FROM note_line WHERE note_line.id = note.id',
    'DELETE FROM note WHERE id = ?',
    'VALUES (1)',
  ]
  const own: Record<string, string[]> = {
    sqlite: [
      "SELECT name FROM sqlite_schema WHERE type = 'table'",
      'SELECT name FROM pragma_table_info(?)',
      'SELECT value FROM json_each(?)',
      'INSERT OR IGNORE INTO note (id) VALUES (?)',
    ],
    postgres: [
      'SELECT id FROM note FOR UPDATE',
      'SELECT cart.id FROM note AS cart FOR UPDATE OF cart',
      'SELECT extract(year FROM to_timestamp(at)) FROM note',
      'SELECT relname FROM pg_class',
      'SELECT table_name FROM information_schema.tables',
      "SELECT random(), gen_random_uuid(), clock_timestamp(), nextval('note_id_seq')",
      "SELECT to_tsvector('simple', ?), ts_rewrite(?, ?, ?), string_agg(cart, ',') FROM note",
      'SELECT pg_advisory_xact_lock(1)',
      'SELECT * FROM generate_series(1, ?) AS cart',
      'SELECT $$; COMMIT$$, $a$ ; SET $$ $a$',
    ],
  }
  for (const text of [...each, ...(own[engine] ?? [])]) t.equal(verdict(text), undefined, text)
})

testOnEngines('a statement that does more than read and write rows is refused', async (t, open, engine) => {
  const verdict = await verdictsOf(open)
  const each = [
    ...['COMMIT', 'begin', 'End Transaction', 'ROLLBACK', 'SAVEPOINT a', 'RELEASE a', '-- hello\nCOMMIT'],
    ...['ALTER TABLE note ADD COLUMN more TEXT', 'DROP TABLE note', 'CREATE TABLE note_more (id BIGINT)'],
    ...['CREATE TEMP TABLE note (id BIGINT)', 'CREATE INDEX note_at ON note (at)', 'ANALYZE', 'VACUUM'],
    ...['ALTER TABLE cart ADD COLUMN more TEXT', 'CREATE TABLE note_more AS SELECT 1 AS a'],
    'EXPLAIN SELECT 1',
  ]
  const own: Record<string, string[]> = {
    sqlite: [
      ...['PRAGMA foreign_keys = OFF', 'PRAGMA foreign_keys = OFF x', 'EXPLAIN PRAGMA foreign_keys = OFF'],
      ...['\ufeffCOMMIT', '/**/;; /* ; */ COMMIT', ';PRAGMA foreign_keys = OFF', 'ATTACH ? AS other'],
      ...['DETACH other', 'VACUUM INTO ?', 'INSERT OR ROLLBACK INTO note_line (cart_id) VALUES (?)'],
      ...['UPDATE OR/* */ROLLBACK note_line SET cart_id = ?'],
    ],
    postgres: [
      ...[
        'SET search_path = public',
        'SET LOCAL statement_timeout = 0',
        'RESET ALL',
        'DISCARD ALL',
        'LISTEN a',
      ],
      ...['NOTIFY a', 'LOCK TABLE note', 'TRUNCATE note', 'COPY note TO STDOUT', 'DO $$ BEGIN NULL; END $$'],
      ...[
        'CALL note_do()',
        'PREPARE a AS SELECT 1',
        'EXECUTE a',
        'DEALLOCATE ALL',
        "PREPARE TRANSACTION 'a'",
      ],
      ...['DECLARE a CURSOR FOR SELECT 1', 'SELECT 1 AS a INTO note_more', 'GRANT ALL ON note TO PUBLIC'],
      ...[
        "SELECT set_config('search_path', 'public', false)",
        "SELECT pg_catalog.set_config('a.b', 'c', true)",
      ],
      ...[`SELECT U&"set\\005fconfig"('a.b', 'c', true)`, 'SELECT query_to_xml(?, true, true, ?)'],
      ...["SELECT table_to_xml('cart', true, true, '')", "SELECT schema_to_xml('public', true, true, '')"],
      ...[
        'SELECT * FROM ts_stat(?)',
        'SELECT ts_rewrite(?, ?)',
        'SELECT pg_advisory_lock(1)',
        'SELECT lo_create(0)',
      ],
      ...['SELECT pg_terminate_backend(1)', "SELECT pg_read_file('a')", "SELECT pg_notify('a', 'b')"],
      ...['INSERT INTO note (cart) VALUES (current_setting(?)), (query_to_xml(?, true, true, ?)::text)'],
    ],
  }
  for (const text of [...each, ...(own[engine] ?? [])]) t.match(verdict(text), /^(runs|calls|ends) /, text)
  const storage = await open()
  if (engine === 'sqlite')
    t.same(await storage.many(sql`SELECT foreign_keys FROM pragma_foreign_keys`), [{ foreign_keys: 1 }])
})

testOnEngines('invalid SQL has the error of the engine', async (t, open) => {
  const verdict = await verdictsOf(open)
  t.throws(() => verdict('SELECT FROM FROM note'), { name: 'DatabaseError', kind: 'other', message: /FROM/ })
})

testOnPostgres('functions belong to modules as tables do', async (t, open) => {
  const verdict = await verdictsOf(
    open,
    `${SCHEMA}
    CREATE FUNCTION note_do() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION cart_do() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  )
  t.equal(verdict('SELECT note_do()'), undefined)
  t.equal(verdict('SELECT cart_do()'), 'cart_do')
})

testOnPostgres('functions of an extension in the schema run as those of the engine', async (t, open, url) => {
  const schema = new URL(url).searchParams.get('schema')
  const verdict = await verdictsOf(open, `${SCHEMA}; CREATE EXTENSION tablefunc; CREATE EXTENSION pg_trgm`)
  t.equal(verdict('SELECT similarity(cart, ?), show_trgm(cart) FROM note'), undefined)
  for (const name of ['crosstab', `${schema}.crosstab`, `${schema}.set_limit`])
    t.match(verdict(`SELECT ${name}(?)`), /^calls /, name)
})
