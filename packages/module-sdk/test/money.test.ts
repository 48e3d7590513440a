import t from 'tap'
import { currencies, currencyDigits, sumMoney, timesMoney, toDecimal } from '../src/index.ts'

const euros = (amount: number) => ({ amount, currency: 'EUR' })

/** ISO 4217, list one: what has no two decimals. */
const others = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
const withoutMinorUnit = 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'

t.test('each currency has the decimals of ISO 4217, whatever the locale data say', async (t) => {
  const expected = new Map(
    Object.entries(others).flatMap(([digits, codes]) =>
      codes.split(' ').map((code) => [code, Number(digits)]),
    ),
  )
  t.equal(currencies.length, 166)
  for (const code of currencies) t.equal(currencyDigits(code), expected.get(code) ?? 2, code)
  for (const code of expected.keys()) t.ok(currencies.includes(code), code)
  // Locale data say 0 for most of these.
  for (const code of [
    'AFN',
    'ALL',
    'COP',
    'HUF',
    'IDR',
    'IRR',
    'LAK',
    'LBP',
    'MGA',
    'MMK',
    'PKR',
    'RSD',
    'TWD',
    'TZS',
  ])
    t.equal(currencyDigits(code), 2, code)
})

t.test('what is no currency, or has no minor unit, has no decimals', async (t) => {
  for (const code of [...withoutMinorUnit.split(' '), 'EURO', 'eur', 'ABC', 'DEM', 'constructor', ''])
    t.equal(currencyDigits(code), undefined, code)
  t.equal(toDecimal({ amount: 1999, currency: 'XTS' }), '1999')
})

t.test('an amount is written digit by digit', async (t) => {
  const written = [
    [150_000, 'HUF', '1500.00'],
    [-5, 'EUR', '-0.05'],
    [1500, 'JPY', '1500'],
    [5, 'KWD', '0.005'],
    [-12_345, 'CLF', '-1.2345'],
    [Number.MAX_SAFE_INTEGER, 'UYW', '900719925474.0991'],
  ] as const
  for (const [amount, currency, text] of written) t.equal(toDecimal({ amount, currency }), text)
})

t.test('money is multiplied and added as integers', async (t) => {
  t.strictSame(timesMoney(euros(1999), 3), euros(5997))
  t.strictSame(sumMoney([euros(5997), euros(0), euros(3)]), euros(6000))
  t.throws(() => sumMoney([euros(1), { amount: 1, currency: 'USD' }]), /EUR and USD/)
  t.throws(() => sumMoney([]), TypeError)
})

t.test('there is no amount that a double cannot hold exactly', async (t) => {
  const most = Number.MAX_SAFE_INTEGER
  t.strictSame(timesMoney(euros(most), 1), euros(most))
  t.equal(timesMoney(euros(most), 2), undefined)
  t.equal(timesMoney(euros(2 ** 52), 2), undefined)
  t.strictSame(sumMoney([euros(most - 1), euros(1)]), euros(most))
  t.equal(sumMoney([euros(most), euros(1)]), undefined)
  t.equal(sumMoney([euros(most), euros(1), euros(1)]), undefined)
})
