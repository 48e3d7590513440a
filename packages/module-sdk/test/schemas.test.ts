import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Money, Nullable, noControls, VisibleText } from '../src/index.ts'

const Product = VisibleText({ maxLength: 128 })

/** As the host reads patterns, with the flag `u`, and as others do that know UTF-16 alone. */
const readings = ['u', ''].map((flags) => new RegExp(Product.pattern as string, flags))
const isProduct = (text: string) => {
  const [unicode, plain] = readings.map((reading) => reading.test(text))
  if (unicode !== plain) throw new Error(`read in two ways: ${JSON.stringify(text)}`)
  return unicode
}

t.test('the patterns keep to what every regular expression engine reads', async (t) => {
  for (const pattern of [Product.pattern as string, noControls]) {
    t.notMatch(
      pattern.replace(/\\x[0-9a-f]{2}/g, ''),
      /\\|\(\?/,
      'no escapes but \\xhh, and no groups that look around',
    )
  }
})

t.test('a product has a visible character and no control characters', async (t) => {
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code === 0xd800) code = 0xe000
    const character = String.fromCodePoint(code)
    const invisible =
      /\p{White_Space}|\u2027|\u2800|[\ufff9-\ufffb]/u.test(character) ||
      (code <= 0xffff && /\p{Default_Ignorable_Code_Point}/u.test(character))
    const control = /\p{Cc}/u.test(character)
    const right =
      isProduct(character) === !(invisible || control) &&
      isProduct(` x${character}`) === !control &&
      isProduct(`${character}x `) === !control &&
      isProduct(` \u200b${character}`) === !(invisible || control)
    if (!right) wrong.push(code.toString(16))
  }
  t.same(wrong, [])
})

t.test('a long invalid product is refused in linear time', async (t) => {
  // Quadratic matching of half a million characters would outlast the test.
  t.notOk(isProduct(' '.repeat(500_000)))
  t.notOk(isProduct(`${' x'.repeat(250_000)}\n`))
})

t.test('nullable adds null to one type, and keeps what else is said of it', async (t) => {
  t.same(JSON.parse(JSON.stringify(Nullable(Type.String({ description: 'a name' })))), {
    type: ['string', 'null'],
    description: 'a name',
  })
  t.match(Nullable(Money), { type: ['object', 'null'], properties: Money.properties })
})
