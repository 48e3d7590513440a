import t from 'tap'
import { foreignChange, type SchemaObject } from '../../src/migrations/foreign-change.ts'

const object = (name: string, more: Partial<SchemaObject> = {}): SchemaObject => ({
  temporary: 0,
  type: 'table',
  name,
  table: name,
  sql: `CREATE TABLE ${name}`,
  ...more,
})
const trigger = (name: string, table: string) => object(name, { type: 'trigger', table })
const existing = [object('purchase'), object('sqlite_autoindex_purchase_1', { table: 'purchase', sql: null })]

t.test('a module may change its own tables freely', async (t) => {
  const mine = [
    object('cart'),
    object('cart_item'),
    object('sqlite_autoindex_cart_1', { table: 'cart', sql: null }),
  ]
  const changes: [SchemaObject[], SchemaObject[]][] = [
    [[], mine],
    [mine, []],
    [mine, [object('cart', { sql: 'CREATE TABLE cart (b)' }), trigger('cart_changed', 'cart_item')]],
    [[], [object('sqlite_sequence')]],
  ]
  for (const [before, after] of changes) {
    t.equal(foreignChange('cart', [...existing, ...before], [...existing, ...after]), undefined)
  }
})

t.test('other changes are reported', async (t) => {
  const [purchase, index] = existing as [SchemaObject, SchemaObject]
  const cases: [string, SchemaObject[]][] = [
    ['makes the table "carts" on "carts"', [...existing, object('carts')]],
    ['makes the table "CART_ITEM" on "CART_ITEM"', [...existing, object('CART_ITEM')]],
    ['makes the trigger "cart_spy" on "purchase"', [...existing, trigger('cart_spy', 'purchase')]],
    ['makes the trigger "purchase" on "purchase"', [...existing, trigger('purchase', 'purchase')]],
    ['changes the table "purchase"', [{ ...purchase, sql: 'CREATE TABLE purchase (b)' }, index]],
    ['drops the table "purchase"', [index]],
    ['drops the table "sqlite_autoindex_purchase_1"', [purchase]],
    ['makes the temporary table "cart_a"', [...existing, object('cart_a', { temporary: 1 })]],
  ]
  for (const [change, after] of cases) t.equal(foreignChange('cart', existing, after), change)
})
