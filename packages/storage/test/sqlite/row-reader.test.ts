import t from 'tap'
import { compileRowReader } from '../../src/sqlite/row-reader.ts'

t.test('values become a row under the names of their columns', async (t) => {
  const read = compileRowReader(['id', 'count(*)', 'a "b"\n', 'constructor'], 'SELECT')
  t.strictSame(read(['x', 3, null, 9007199254740991]), {
    id: 'x',
    'count(*)': 3,
    'a "b"\n': null,
    constructor: 9007199254740991,
  })
})

t.test('the last of two columns with one name counts, as in the driver', async (t) => {
  t.strictSame(compileRowReader(['id', 'id'], 'SELECT')([1, 2]), { id: 2 })
})

t.test('a column named __proto__ is a column', async (t) => {
  const row = compileRowReader(['__proto__'], 'SELECT')([{ polluted: 1 }]) as object
  t.equal(Object.getPrototypeOf(row), Object.prototype)
  t.ok(Object.hasOwn(row, '__proto__'))
})

t.test('an integer that is not exact is refused, with its column', async (t) => {
  const read = compileRowReader(['id', 'big'], 'SELECT id, big FROM x')
  for (const value of [2 ** 53, -(2 ** 53), 1e300, Number.POSITIVE_INFINITY]) {
    t.throws(() => read(['x', value]), {
      name: 'DatabaseError',
      kind: 'other',
      message: /"big".*SELECT id, big/,
    })
  }
})
