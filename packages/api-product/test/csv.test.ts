import fc from 'fast-check'
import t from 'tap'
import { csvHeader, readCsv, toCsv } from '../src/import/csv.ts'
import type { Product } from '../src/schemas.ts'

const text = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', ' ', 'a', 'é', '\u{1F375}', ';', '\t') })
const price = fc.record({ amount: fc.nat(), currency: fc.constantFrom('EUR', 'JPY') })
const product = fc.record({
  id: text,
  name: text,
  description: fc.option(text.filter((one) => one !== '')),
  images: fc.array(fc.record({ url: text, alt: text }), { maxLength: 2 }),
  attributes: fc.dictionary(fc.constantFrom('size', 'roast'), text),
  group: fc.option(text.filter((one) => one !== '')),
  price,
  otherPrices: fc.array(price, { maxLength: 2 }),
  stock: fc.option(fc.nat()),
  active: fc.boolean(),
})

t.test('any products are read as they were written', (t) => {
  fc.assert(
    fc.property(fc.array(product), (products) => {
      const written = csvHeader + products.map((one) => toCsv(one as unknown as Product)).join('')
      const read = Array.from(readCsv(written), ({ value, detail }) => detail ?? value)
      t.strictSame(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(products)))
    }),
  )
  t.end()
})

t.test('lines are counted, and the last one needs no end', (t) => {
  const linesOf = (file: string) =>
    Array.from(readCsv(`id,name,price,currency,group\n${file}`), ({ line, detail }) => [
      line,
      detail !== undefined,
    ])
  t.strictSame(linesOf(''), [])
  t.strictSame(linesOf('a,b,1,EUR,'), [[2, false]])
  t.strictSame(linesOf('\r\n\na,"b\n\nc",1,EUR,d\r\n  \nlast,b,1,EUR,""'), [
    [4, false],
    [8, false],
  ])
  t.strictSame(linesOf('a,b,1,EUR\na,b,1,EUR,c,d\n""\n'), [
    [2, true],
    [3, true],
    [4, true],
  ])
  for (const broken of ['a,b"c,1,EUR,\n', '"a"b,c,1,EUR,\n', 'a,"b,1,EUR,\n', 'a,b\rc,1,EUR,\n'])
    t.strictSame(linesOf(`ok,b,1,EUR,\n${broken}a,b,1,EUR,\n`), [
      [2, false],
      [3, true],
    ])
  t.end()
})
