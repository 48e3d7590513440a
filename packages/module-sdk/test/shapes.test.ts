import t from 'tap'
import { Shapes } from '../src/shapes.ts'
import { byEngine, join, sql } from '../src/sql.ts'

t.test('a statement of a known shape is not composed again', async (t) => {
  const shapes = new Shapes()
  let composed = 0
  const cheaper = (prices: readonly number[], most: number) =>
    shapes.query(`cheaper ${prices.length}`, [...prices, most], (values) => {
      composed += 1
      const [last, ...first] = values.toReversed().map((value) => sql`${value}`)
      return sql`SELECT ${7} FROM product WHERE price IN (${join(first.toReversed())}) AND price < ${last as never}`
    })
  t.same(cheaper([1, 2], 3).values, [7, 1, 2, 3])
  const again = cheaper([4, 5], 6)
  t.same(again.values, [7, 4, 5, 6])
  t.equal(again.strings, cheaper([1, 2], 3).strings)
  t.equal(again.strings.join('?'), 'SELECT ? FROM product WHERE price IN (?, ?) AND price < ?')
  t.equal(composed, 1)
  t.same(cheaper([1], 3).values, [7, 1, 3])
  t.equal(composed, 2)
})

t.test('a value may stand in several places, and elsewhere for another engine', async (t) => {
  const shapes = new Shapes()
  const query = (a: string, b: string) =>
    shapes.query('', [a, b], ([a = '', b = '']) =>
      byEngine({ sqlite: sql`SELECT ${a}, ${b}`, postgres: sql`SELECT ${b}, ${a}, ${b}` }),
    )
  query('a', 'b')
  t.same(query('c', 'd').values, ['c', 'd'])
  t.same(query('c', 'd').postgres?.values, ['d', 'c', 'd'])
  t.equal(query('c', 'd').postgres?.strings, query('e', 'f').postgres?.strings)
})

t.test('values that one engine cannot store are refused each time', async (t) => {
  const shapes = new Shapes()
  const query = (value: unknown) =>
    shapes.query('', [value as never], ([value]) => sql`SELECT ${value as never}`)
  query(1)
  for (const value of [undefined, true, 1.5, 'a\0']) t.throws(() => query(value), TypeError)
})

t.test('shapes without end are not remembered without end', async (t) => {
  const shapes = new Shapes()
  let composed = 0
  const query = (shape: string) =>
    shapes.query(shape, [1], ([value]) => {
      composed += 1
      return sql`SELECT ${value as never}`
    })
  for (let index = 0; index < 1000; index += 1) t.same(query(`${index}`).values, [1])
  query('999')
  t.equal(composed, 1000)
  query('0')
  t.equal(composed, 1001)
})
