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
      ["SELECT pg_get_serial_sequence('cart', 'id')", 'cart'],
      ["SELECT ('cart_id_seq'::regclass).nextval", 'cart_id_seq'],
      ["SELECT nextval(pg_get_serial_sequence('cart', 'id'))", 'cart'],
      ['SELECT last_value FROM cart_id_seq', 'cart_id_seq'],
      ['SELECT NULL::cart', 'cart'],
      ["SELECT * FROM json_populate_record(NULL::cart, '{}')", 'cart'],
      ["SELECT * FROM json_to_recordset('[]') AS one (line cart_item)", 'cart_item'],
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
      'SELECT note.id, (note).cart, (note.cart).upper, note.row_to_json FROM note',
      "SELECT nextval(pg_get_serial_sequence('note', 'id')), ('note_id_seq'::regclass).nextval",
      "SELECT NULL::note, '{}'::jsonb, pg_total_relation_size(oid) FROM pg_class",
      "SELECT has_table_privilege('cart', 'SELECT'), 'cart'::regclass",
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
      ...['UPDATE OR/* */ROLLBACK note_line SET cart_id = ?', 'SELECT * FROM pragma_optimize'],
      ...["SELECT * FROM pragma_optimize(-1, 'main')", 'SELECT 1 FROM [pragma_integrity_check](?)'],
      ...['SELECT * FROM note WHERE id IN (SELECT rowid FROM "pragma_foreign_key_check")'],
      ...['INSERT INTO note (id) SELECT 1 FROM pragma_quick_check', 'SELECT 1 FROM main.pragma_locking_mode'],
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
      ...["SELECT ('a'::text).pg_read_file", 'SELECT (?).pg_terminate_backend', 'SELECT nextval(?)'],
      ...["SELECT setval('note' || '_id_seq', 1)", "SELECT currval('16384')", 'SELECT lastval()'],
      ...["SELECT lo_get(1), lo_put(1, 0, '')", "SELECT lo_import('a')", 'SELECT pg_advisory_unlock_all()'],
      ...['SELECT pg_reload_conf()', 'SELECT pg_export_snapshot()', "SELECT pg_ls_dir('.')", 'UNLISTEN *'],
      ...["SELECT pg_logical_emit_message(true, 'a', 'b')", 'SELECT setseed(0)', "COPY note FROM '/a'"],
      ...['CHECKPOINT', 'REFRESH MATERIALIZED VIEW note_all', 'COMMENT ON TABLE note IS NULL', 'SHOW ALL'],
      ...["SECURITY LABEL ON TABLE note IS 'a'", 'IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c', "LOAD 'a'"],
      ...[
        'REASSIGN OWNED BY a TO b',
        'FETCH 1 FROM a',
        'CLOSE ALL',
        'SET ROLE a',
        'SET CONSTRAINTS ALL DEFERRED',
      ],
      ...['INSERT INTO note (cart) VALUES (current_setting(?)), (query_to_xml(?, true, true, ?)::text)'],
    ],
  }
  for (const text of [...each, ...(own[engine] ?? [])])
    t.match(verdict(text), /^(runs|calls|ends|reads) /, text)
  const storage = await open()
  if (engine === 'sqlite') {
    // SQLite refuses it itself.
    await t.rejects(storage.many(sql`SELECT load_extension('a')`), { message: /not authorized/ })
    t.same(await storage.many(sql`SELECT foreign_keys FROM pragma_foreign_keys`), [{ foreign_keys: 1 }])
  }
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

testOnPostgres('a function of others is found, however it is called', async (t, open) => {
  const verdict = await verdictsOf(
    open,
    `${SCHEMA}
    CREATE FUNCTION cart_of(note) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION note_of(note) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION cart_any(anyelement) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION at(cart) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION cart_like(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE OPERATOR ~@~ (LEFTARG = text, RIGHTARG = text, FUNCTION = cart_like);
    CREATE OPERATOR + (LEFTARG = text, RIGHTARG = text, FUNCTION = cart_like);
    CREATE FUNCTION note_like(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE OPERATOR ~@@~ (LEFTARG = text, RIGHTARG = text, FUNCTION = note_like);
    CREATE TYPE cart_mood AS ENUM ('good');
    CREATE TYPE note_mood AS ENUM ('good');
    CREATE DOMAIN cart_size AS int CHECK (VALUE > 0);
    CREATE TABLE text (id int); CREATE TABLE format (id int); CREATE TABLE date (id int)`,
  )
  const each: [string, string][] = [
    ['SELECT note.cart_of FROM note', 'cart_of'],
    ['SELECT (note).cart_of FROM note', 'cart_of'],
    ['SELECT one.cart_of AS cart_of FROM note AS one', 'cart_of'],
    ['SELECT id FROM note WHERE note."cart_of" = 1', 'cart_of'],
    ['SELECT note.cart_any, 1 FROM note', 'cart_any'],
    ['SELECT (id).cart_any FROM note', 'cart_any'],
    ['UPDATE note SET at = note.cart_of', 'cart_of'],
    ['SELECT (SELECT note).cart_of FROM note', 'cart_of'],
    ['SELECT 1 FROM note WHERE cart ~@~ ?', 'cart_like'],
    ['SELECT 1 FROM note WHERE cart OPERATOR(~@~) ANY (?)', 'cart_like'],
    ["SELECT 'good'::cart_mood", 'cart_mood'],
    ["SELECT cart_mood 'good'", 'cart_mood'],
    ["SELECT cart_mood('good'), 1", 'cart_mood'],
    ['SELECT CAST(? AS cart_mood[])', 'cart_mood'],
    ['SELECT id::cart_size FROM note', 'cart_size'],
  ]
  for (const [text, name] of each) t.equal(verdict(text), name, text)
  for (const text of [
    "SELECT note.note_of, note.at, (note).at, 'good'::note_mood, note_mood('good') FROM note",
    'SELECT 1 + 1 FROM note WHERE cart ~@@~ ?',
    "SELECT id::text, format('%s', 1), date('2026-01-01'), text(id) FROM note",
  ])
    t.equal(verdict(text), undefined, text)
})

testOnPostgres('functions of an extension in the schema run as those of the engine', async (t, open, url) => {
  const schema = new URL(url).searchParams.get('schema')
  const verdict = await verdictsOf(
    open,
    `${SCHEMA}; CREATE EXTENSION tablefunc; CREATE EXTENSION pg_trgm; CREATE EXTENSION dblink; CREATE EXTENSION ltree`,
  )
  t.equal(verdict("SELECT 'a.b'::ltree @> ?, text2ltree(cart) FROM note"), undefined)
  for (const call of ['dblink(?)', 'dblink_exec(?)', "dblink_connect('a', ?)"])
    t.match(verdict(`SELECT ${call}`), /^calls /, call)
  t.equal(verdict('SELECT similarity(cart, ?), show_trgm(cart) FROM note'), undefined)
  for (const name of ['crosstab', `${schema}.crosstab`, `${schema}.set_limit`])
    t.match(verdict(`SELECT ${name}(?)`), /^calls /, name)
})
