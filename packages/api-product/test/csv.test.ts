import fc from 'fast-check'
import t from 'tap'
import { csvHeader, readCsv, separatorOf, toCsv } from '../src/import/csv.ts'
import { MOST_CHARACTERS, readRecords, separators } from '../src/import/csv-records.ts'
import type { Product } from '../src/schemas.ts'

const text = fc.string({
  unit: fc.constantFrom('"', ',', '\n', '\r', ' ', 'a', 'é', '\u{1F375}', ';', '\t', '=', '-', "'", '＠'),
})
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
  version: fc.nat(),
})

/** The values of lines, or what is wrong with them: one value or error for each. */
const read = (text: string) =>
  Array.from(readCsv(text), ({ line, value, errors }) => ({ line, value, errors })).filter(
    ({ value, errors }) => value !== undefined || errors !== undefined,
  )

t.test('any products are read as they were written', (t) => {
  fc.assert(
    fc.property(fc.array(product), (products) => {
      const written = csvHeader + products.map((one) => toCsv(one as unknown as Product)).join('')
      const values = read(written.slice(1)).map(({ value, errors }) => errors ?? value)
      t.strictSame(JSON.parse(JSON.stringify(values)), JSON.parse(JSON.stringify(products)))
    }),
  )
  t.end()
})

t.test('no cell of an export is a formula of a spreadsheet', async (t) => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(1)', '\t=1', '\r=1', '＝1', "'=1", "''=1"]) {
    const one = {
      id: text,
      name: text,
      group: text,
      description: text,
      price: {},
      otherPrices: [],
      images: [],
    }
    const [line = ''] = [toCsv({ ...one, attributes: {} } as unknown as Product)]
    t.equal(line.match(/(^|,)"?[=+\-@\t\r＝]/g), null, line)
  }
})

t.test('of a cell that is too long, no more is read than a cell may have', async (t) => {
  const unclosed = `"${'""'.repeat(MOST_CHARACTERS)}`
  for (const separator of Object.values(separators))
    t.match(
      [...readRecords(unclosed, separator)],
      [{ line: 1, cells: [], detail: /more than \d+ characters/ }],
    )
})

t.test('a text that looks damaged comes back from an export', async (t) => {
  for (const text of ['#NAME?', "'#REF!", '1E+5', "''1,5e+12", '#N/A', "'1E+5 "]) {
    const one = {
      id: text,
      name: text,
      group: text,
      description: text,
      price: { amount: 1, currency: 'EUR' },
    }
    const product = {
      ...one,
      otherPrices: [],
      images: [],
      attributes: {},
      stock: null,
      active: true,
      version: 1,
    }
    const [back] = read(csvHeader.slice(1) + toCsv(product as unknown as Product))
    t.strictSame(back, { line: 2, value: product, errors: undefined }, text)
  }
})

const header = 'id,name,price,currency,stock,active,group,images,version\n'
const cells = { id: 'tea', name: 'Tea', price: '450', currency: 'EUR', stock: '', active: '', group: '' }
const line = (changes: object) =>
  `${Object.values({ ...cells, images: '', version: '', ...changes })
    .map((cell) => `"${String(cell).replaceAll('"', '""')}"`)
    .join(',')}\n`
const productIn = (changes: object) => read(header + line(changes))[0]?.value
const errorOf = (changes: object) => {
  const errors = read(header + line(changes))[0]?.errors
  return errors?.length === 1 ? `${errors[0]?.pointer}: ${errors[0]?.detail}` : JSON.stringify(errors)
}

t.test('what spreadsheets write is understood', async (t) => {
  for (const yes of ['TRUE', 'true', ' True', 'WAHR', 'VRAI', 'VERDADERO', 'ИСТИНА', 'DOĞRU'])
    t.match(productIn({ active: yes }), { active: true }, yes)
  for (const no of ['FALSE', 'FALSCH', 'FAUX', 'FAŁSZ'])
    t.match(productIn({ active: no }), { active: false }, no)
  t.match(productIn({ stock: '12.0' }), { stock: 12 })
  t.match(productIn({ stock: ' 12 ' }), { stock: 12 })
  t.strictSame(productIn({}), {
    id: 'tea',
    name: 'Tea',
    stock: null,
    group: null,
    images: [],
    price: { amount: 450, currency: 'EUR' },
  })
  t.match(productIn({ name: "'=cup" }), { name: '=cup' }, 'the apostrophe of the export')
  t.match(productIn({ name: '=cup' }), { name: '=cup' }, 'a spreadsheet has taken it away')
  t.match(productIn({ name: "'tis" }), { name: "'tis" })
  t.match(productIn({ id: '007' }), { id: '007' })
})

t.test('what a spreadsheet has damaged, or what is ambiguous, is refused by its name', async (t) => {
  const cases: [changes: object, error: RegExp][] = [
    [{ price: '19.99' }, /^\/price\/amount: must be an integer of minor units.*1999 stands for 19\.99 EUR/],
    [{ price: '19,99' }, /minor units/],
    [{ price: '1.999,00' }, /minor units/],
    [{ price: '€5' }, /minor units/],
    [{ price: '1999.0', currency: 'HUF' }, /1999 stands for 19\.99 HUF/],
    [{ price: '1,5', currency: 'JPY' }, /1999 stands for 1999 JPY/],
    [{ price: '1.999' }, /ambiguous.* 1999 or a fraction/],
    [{ price: '1 234 567' }, /ambiguous/],
    [{ price: '1.2E+15' }, /shortened it to 1\.2E\+15/],
    [{ stock: '1,000' }, /^\/stock: .*ambiguous/],
    [{ stock: '1.5' }, /whole number/],
    [{ stock: '1E+05' }, /shortened/],
    [{ stock: '-1' }, /whole number/],
    [{ version: 'x' }, /^\/version/],
    [{ id: '4,01234E+12' }, /^\/id: .*shortened.*as text/],
    [{ group: '1E+12' }, /^\/group: .*shortened/],
    [{ name: '#NAME?' }, /^\/name: .*error #NAME\?/],
    [{ active: 'yes' }, /^\/active: must be true or false, and not yes/],
    [{ images: '[' }, /^\/images: must be JSON/],
    [{ images: '[{"url":"a","url":"b"}]' }, /^\/images\/0\/url: must be given once/],
    [{ images: '{"__proto__":1}' }, /^\/images\/__proto__/],
  ]
  for (const [changes, error] of cases) t.match(errorOf(changes), error, JSON.stringify(changes))
})

t.test('the separator is found, and so are all line ends', async (t) => {
  const file = (separator: string, end: string) =>
    ['id name price currency stock', 'tea "Green\ntea, fresh" 450 EUR 3', '    ', 'cup Cup 900 EUR ']
      .map((one) => one.replace('Green\ntea, fresh', 'Green tea').replaceAll(' ', separator))
      .map((one) => one.replace(`Green${separator}tea`, 'Green tea'))
      .join(end)
  for (const [name, separator] of Object.entries(separators)) {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = file(separator, end)
      t.equal(separatorOf(text), name)
      const found = read(text).map(({ line, value }) => [line, (value as { stock: number }).stock])
      t.strictSame(found, [
        [2, 3],
        [4, null],
      ])
    }
    t.equal(separatorOf(`sep=${separator}\r\nx`), name)
  }
  t.match(read('sep=;\r\nid;name;price;currency\r\ntea;Tea;1,5;EUR'), [{ line: 3, errors: [{}] }])
  t.match(read('ID;Name;PRICE;Currency;;\ntea;Tea;1;EUR;;\n;;;;;\n'), [{ line: 2, value: { id: 'tea' } }])
  t.equal(separatorOf('a;b;c'), 'semicolon', 'for the message')
  const wrong = read('id;name;colour\n')[0]
  t.match(wrong?.errors?.[0]?.detail, /"colour", with a semicolon between the columns/)
})

t.test('lines are counted, and the last one needs no end', (t) => {
  const linesOf = (file: string) =>
    read(`id,name,price,currency,group\n${file}`).map(({ line, errors }) => [line, errors !== undefined])
  t.strictSame(linesOf(''), [])
  t.strictSame(linesOf('a,b,1,EUR,'), [[2, false]])
  t.strictSame(linesOf('\r\n\na,"b\n\nc",1,EUR,d\r\n  \nlast,b,1,EUR,""'), [
    [4, false],
    [8, false],
  ])
  t.strictSame(linesOf('a,b,1,EUR\na,b,1,EUR,c,d\n""\n,,,,,\n'), [
    [2, true],
    [3, true],
  ])
  for (const broken of ['a,b"c,1,EUR,\n', '"a"b,c,1,EUR,\n', 'a,"b,1,EUR,\n'])
    t.strictSame(linesOf(`ok,b,1,EUR,\n${broken}a,b,1,EUR,\n`), [
      [2, false],
      [3, true],
    ])
  t.end()
})
