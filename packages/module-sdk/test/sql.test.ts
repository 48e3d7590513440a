import t from 'tap'
import { byEngine, columnsOf, identifier, join, sql } from '../src/sql.ts'

t.test('values are bound, whatever they hold', async (t) => {
  const evil = "'; DROP TABLE cart; --"
  const query = sql`SELECT ${evil}, ${1}, ${null}, ${2n ** 60n}`
  t.same(query.strings, ['SELECT ', ', ', ', ', ', ', ''])
  t.same(query.values, [evil, 1, null, 2n ** 60n])
})

t.test('a call site has one text, so that its statement is prepared once', async (t) => {
  const find = (id: string) => sql`SELECT * FROM cart WHERE id = ${id}`
  t.equal(find('a').strings, find('b').strings)
})

t.test('fragments nest, with their values in order', async (t) => {
  const where = sql`owner = ${'me'} AND ${sql`status IN (${join([sql`${'a'}`, sql`${'b'}`])})`}`
  const query = sql`SELECT ${1} FROM ${identifier('cart_item')} WHERE ${where} LIMIT ${20}`
  t.equal(query.strings.join('?'), 'SELECT ? FROM cart_item WHERE owner = ? AND status IN (?, ?) LIMIT ?')
  t.same(query.values, [1, 'me', 'a', 'b', 20])
})

t.test('a composed query has one text for each shape, so that its statement is prepared once', async (t) => {
  const some = (ids: readonly number[]) => sql`
    SELECT * FROM cart WHERE id IN (${join(ids.map((id) => sql`${id}`))}) AND ${sql`owner = ${'a'}`}`
  t.equal(some([1, 2]).strings, some([3, 4]).strings)
  t.same(some([3, 4]).values, [3, 4, 'a'])
  t.not(some([1, 2, 3]).strings, some([1, 2]).strings)
  t.equal(some([1, 2, 3]).strings.join('?'), some([1, 2]).strings.join('?').replace('?, ?', '?, ?, ?'))
  const many = Array.from({ length: 1000 }, (_, id) => id)
  t.equal(some(many).strings.length, 1002)
  t.not(some(many).strings, some(many).strings, 'nobody remembers long texts')
  const other = (ids: readonly number[]) =>
    sql`DELETE FROM cart WHERE ${join(ids.map((id) => sql`id = ${id}`))}`
  t.equal(other([1, 2]).strings.join('?'), 'DELETE FROM cart WHERE id = ?, id = ?')
})

t.test('columns have their values by name, and a query with them has one text', async (t) => {
  const { names, values } = columnsOf('id', 'owner', 'size')
  const insert = (row: Parameters<typeof values>[0]) =>
    sql`INSERT INTO note (${names}) VALUES (${values(row)})`
  const first = insert({ owner: 'me', size: 1, id: 'a' })
  t.equal(first.strings.join('?'), 'INSERT INTO note (id, owner, size) VALUES (?, ?, ?)')
  t.same(first.values, ['a', 'me', 1])
  t.equal(insert({ id: 'b', owner: 'me', size: null }).strings, first.strings)
  const cast = columnsOf(['size', 'BIGINT'], 'id', ['made', 'BIGINT'])
  t.equal(
    cast.values({ id: 'b', made: 1, size: null }).strings.join('?'),
    'CAST(? AS BIGINT), ?, CAST(? AS BIGINT)',
  )
  // @ts-expect-error a column without a value
  t.throws(() => insert({ id: 'c', owner: 'me' }), TypeError)
  t.throws(() => columnsOf('id; DROP TABLE note'), TypeError)
})

t.test('join() uses the given separator and needs a fragment', async (t) => {
  const all = join([sql`a = ${1}`, sql`b = ${2}`], ' OR ')
  t.equal(all.strings.join('?'), 'a = ? OR b = ?')
  t.throws(() => join([]), TypeError)
})

t.test('a list of fragments may change after join()', async (t) => {
  const fragments = [byEngine({ sqlite: sql`a`, postgres: sql`b` }), sql`c`]
  const query = join(fragments)
  fragments.pop()
  t.equal(query.strings.join('?'), 'a, c')
  t.equal(query.postgres?.strings.join('?'), 'b, c')
})

t.test('values that one engine cannot store are refused at the write', async (t) => {
  const wrong = [undefined, true, 1.5, Number.NaN, 2 ** 53, new Date(), {}, [], () => {}, 'a\0']
  for (const value of wrong) {
    t.throws(() => sql`SELECT ${value as never}`, { name: 'TypeError', message: /cannot store/ })
    t.throws(() => sql`SELECT ${sql`x`}, ${value as never}`, TypeError)
  }
})

t.test('only a plain lower-case name is an identifier', async (t) => {
  for (const name of ['', 'Cart', 'cart item', 'cart;', '1cart', 'cart"', 'x'.repeat(64)]) {
    t.throws(() => identifier(name), TypeError, name)
  }
})

t.test('byEngine is a query, or a fragment of another one', async (t) => {
  const now = byEngine({ sqlite: sql`unixepoch(${1})`, postgres: sql`extract(epoch FROM now()) + ${2}` })
  t.match(now, { strings: ['unixepoch(', ')'], values: [1], postgres: { values: [2] } })
  const query = sql`SELECT ${'a'}, ${now} FROM ${join([identifier('x'), sql`y`])}`
  t.strictSame(
    [query.strings, query.values],
    [
      ['SELECT ', ', unixepoch(', ') FROM x, y'],
      ['a', 1],
    ],
  )
  t.strictSame(
    [query.postgres?.strings, query.postgres?.values],
    [
      ['SELECT ', ', extract(epoch FROM now()) + ', ' FROM x, y'],
      ['a', 2],
    ],
  )
  t.strictSame(join([now, sql`z`]).postgres?.strings, ['extract(epoch FROM now()) + ', ', z'])
  t.equal(byEngine({ sqlite: sql`a`, postgres: query }).postgres, query.postgres)
  t.equal(sql`SELECT ${sql`x`}`.postgres, undefined)
})
