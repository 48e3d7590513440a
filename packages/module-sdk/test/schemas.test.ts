import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { Money, Nullable, Product, Quantity } from '../src/index.ts'

/** As the host reads patterns: with the flag `u`. */
const isProduct = (text: string) => new RegExp(Product.pattern as string, 'u').test(text)

t.test('a product is not only blanks, and has no control characters', async (t) => {
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code === 0xd800) code = 0xe000
    const character = String.fromCodePoint(code)
    const blank = /\p{White_Space}/u.test(character)
    const control = /\p{Cc}/u.test(character)
    const right =
      isProduct(character) === !(blank || control) &&
      isProduct(` x${character}`) === !control &&
      isProduct(`${character}x `) === !control
    if (!right) wrong.push(code.toString(16))
  }
  t.same(wrong, [])
})

t.test('a product that is long and wrong is refused in linear time', async (t) => {
  // Quadratic matching of half a million characters would outlast the test.
  t.notOk(isProduct(' '.repeat(500_000)))
  t.notOk(isProduct(`${' x'.repeat(250_000)}\n`))
})

t.test('a quantity is an integer from 1 to 9999', async (t) => {
  for (const quantity of [1, 9999]) t.ok(Value.Check(Quantity, quantity))
  for (const quantity of [0, -1, 10_000, 1.5, '1', null]) t.notOk(Value.Check(Quantity, quantity))
})

t.test('nullable adds null to one type, and keeps what else is said of it', async (t) => {
  t.same(JSON.parse(JSON.stringify(Nullable(Type.String({ description: 'a name' })))), {
    type: ['string', 'null'],
    description: 'a name',
  })
  t.match(Nullable(Money), { type: ['object', 'null'], properties: Money.properties })
})
