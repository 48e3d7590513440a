import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { readPlan } from '../../src/sqlite/read-plan.ts'

const database = new SqliteDatabase(':memory:')
t.teardown(() => database.close())
database.exec(`
  CREATE TABLE cart (id TEXT PRIMARY KEY, owner TEXT NOT NULL UNIQUE, name TEXT);
  CREATE TABLE item (id INTEGER PRIMARY KEY, cart TEXT NOT NULL, product TEXT NOT NULL, note TEXT, UNIQUE (cart, product));
  CREATE INDEX item_by_note ON item (note, product) WHERE note IS NOT NULL;`)

const rows: Record<string, number> = { cart: 1_000, item: 5_000, 'item.cart': 7, 'item.note': 50 }

/** How many rows a statement goes through, in tables of these sizes. */
function cost(text: string): number {
  const parameters = text.split('?').length - 1
  return readPlan(
    database,
    text,
    parameters,
  )(({ table, columns }) => rows[[table, ...columns].join('.')] ?? -1)
}

t.test('a unique key, or the first or last row, reads one row', async (t) => {
  for (const text of [
    'SELECT * FROM cart WHERE owner = ?',
    'SELECT * FROM item WHERE id = ?',
    'SELECT * FROM item WHERE cart = ? AND product = ?',
    'SELECT max(id) FROM item',
    'SELECT (SELECT min(id) FROM item) + (SELECT name FROM cart WHERE id = ?)',
    'SELECT 1',
  ])
    t.ok(cost(text) <= 3, text)
})

t.test('a search by a part of an index reads a group of rows; others read the table', async (t) => {
  t.equal(cost('SELECT * FROM item WHERE cart = ?'), 7)
  t.equal(cost('SELECT * FROM item WHERE cart = ? AND product > ? LIMIT 1'), 7)
  t.equal(cost('SELECT * FROM item WHERE note = ? ORDER BY id'), 50)
  t.equal(cost('SELECT count(*) FROM item'), 5_000)
  t.equal(cost("SELECT * FROM item WHERE id > ? AND note LIKE '%x' LIMIT 1"), 5_000)
})

t.test('loops within each other are multiplied, those one after the other added', async (t) => {
  t.equal(cost('SELECT * FROM cart JOIN item ON item.cart = cart.id WHERE cart.owner = ?'), 7)
  t.equal(cost('SELECT * FROM item AS one, item AS other'), 5_000 * 5_000)
  t.equal(cost('SELECT id FROM cart UNION ALL SELECT product FROM item'), 6_002)
  t.equal(cost('SELECT name, (SELECT count(*) FROM item WHERE item.cart = cart.id) FROM cart'), 7_000)
})

t.test('an unknown plan counts as endless', async (t) => {
  t.equal(cost('SELECT value FROM json_each(?)'), Number.POSITIVE_INFINITY)
  const endless = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 5'
  t.equal(cost(endless), Number.POSITIVE_INFINITY)
})
