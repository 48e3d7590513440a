import { type Database, join, sql } from '@mortise/module-sdk'
import t from 'tap'
import { checkedDatabase, foreignTable, ownTables } from '../../src/modules/own-tables.ts'

const owners = new Map([
  ['mortise', 'the host'],
  ['note', 'note'],
  ['cart', 'api-cart'],
])

t.test('a table of another module is found, and nothing else', (t) => {
  const found = (text: string) => foreignTable(text, 'note', owners)?.table
  for (const [text, table] of [
    ['SELECT * FROM cart', 'cart'],
    ['select * from\n "cart_item" where 1', 'cart_item'],
    ['SELECT 1 FROM note JOIN cart ON cart.id = note.cart_id', 'cart'],
    ['SELECT 1 FROM note, cart WHERE 1', 'cart'],
    ['SELECT (SELECT count(*) FROM mortise_guest) FROM note', 'mortise_guest'],
    ['INSERT INTO cart_item SELECT 1', 'cart_item'],
    ['UPDATE cart SET a = 1', 'cart'],
    ['DELETE FROM cart', 'cart'],
    ['DELETE FROM note USING cart WHERE 1', 'cart'],
    ['WITH gone AS (DELETE FROM cart RETURNING id) SELECT id FROM gone', 'cart'],
    ['UPDATE OR IGNORE cart SET a = 1', 'cart'],
    ['TRUNCATE TABLE cart', 'cart'],
    ['SELECT 1 FROM ONLY cart', 'cart'],
    ['SELECT 1 FROM main.cart', 'cart'],
    ['SELECT 1 FROM (cart JOIN note ON 1)', 'cart'],
  ])
    t.equal(found(text as string), table, text as string)
  for (const text of [
    'SELECT cart, cart_id AS "cart" FROM note_line ORDER BY id, cart_id',
    "SELECT ' FROM cart' FROM note -- FROM cart",
    'SELECT 1 FROM notes, carts',
    'WITH cart AS (SELECT 1 FROM note) SELECT * FROM cart',
    'INSERT INTO note (cart_id) VALUES (?) ON CONFLICT (cart_id) DO UPDATE SET a = 1',
    'SELECT 1 FROM note WHERE a IS DISTINCT FROM cart_id',
    'SELECT 1 FROM note FOR UPDATE',
    'SELECT 1 FROM note JOIN note_line USING (cart_id)',
    'SELECT extract(year FROM cart_at) FROM note',
  ])
    t.equal(found(text), undefined, text)
  t.end()
})

t.test('a read of such a table is refused, each time', async (t) => {
  const database = checkedDatabase(
    { many: async () => [], maybeOne: async () => 1, one: async () => 1 } as never as Database,
    ownTables('note', owners),
  )
  const name = sql`cart`
  for (const query of [
    sql`SELECT id FROM cart`,
    sql`SELECT id FROM ${name}`,
    sql`SELECT id FROM note ${join([sql`JOIN cart ON 1`])}`,
  ]) {
    for (let time = 0; time < 2; time += 1) {
      await t.rejects(database.many(query), {
        name: 'DatabaseError',
        kind: 'refused',
        message: /note names "cart", which belongs to api-cart: ask that module through a contract/,
      })
      await t.rejects(database.maybeOne(query), { name: 'DatabaseError', message: /belongs to api-cart/ })
    }
  }
  t.same(await database.many(sql`SELECT id FROM note`), [])
  t.same(await database.many(undefined as never), [])
})
