import { currencies, currencyDigits, toDecimal } from '@mortise/module-sdk/money'
import t from 'tap'
import { formatMoney, fromDecimal } from '../page/src/money.ts'

t.test('what is typed and shown in any currency has the decimals of ISO 4217', async (t) => {
  // Locale data say 0 decimals for the forint.
  t.equal(fromDecimal('1500', 'HUF'), 150_000)
  for (const currency of currencies) {
    for (const amount of [0, 1, 150_000, Number.MAX_SAFE_INTEGER]) {
      const decimal = toDecimal({ amount, currency })
      t.equal(fromDecimal(decimal, currency), amount, currency)
      const [shown] = /\d[\d,.]*$/.exec(formatMoney({ amount, currency })) ?? []
      t.equal(shown?.replaceAll(',', ''), decimal, currency)
    }
    const digits = currencyDigits(currency) as number
    t.equal(fromDecimal(`1.${'0'.repeat(digits + 1)}`, currency), undefined, currency)
  }
})

t.test('an amount in what is no currency is shown as it is', async (t) => {
  t.equal(formatMoney({ amount: 1999, currency: 'XTS' }), '1999 XTS')
  t.equal(formatMoney({ amount: 1999, currency: '?' }), '1999 ?')
})

t.test('money is digits of its currency, and never a floating point number', async (t) => {
  const cases = [
    [1999, 'EUR', '19.99', '€19.99'],
    [5, 'EUR', '0.05', '€0.05'],
    [-150, 'EUR', '-1.50', '-€1.50'],
    [1999, 'JPY', '1999', '¥1,999'],
    [1_234_567, 'KWD', '1234.567', 'KWD 1,234.567'],
    // As a floating point number it would be 90,071,992,547,409.92.
    [Number.MAX_SAFE_INTEGER, 'EUR', '90071992547409.91', '€90,071,992,547,409.91'],
  ] as const
  for (const [amount, currency, decimal, shown] of cases) {
    t.equal(toDecimal({ amount, currency }), decimal)
    t.equal(formatMoney({ amount, currency }).replace('\u00a0', ' '), shown)
    if (amount > 0) t.equal(fromDecimal(decimal, currency), amount)
  }
  t.equal(formatMoney(null), '—')
})

t.test('what is typed is an amount of the currency, or none', async (t) => {
  t.equal(fromDecimal(' 4,5 ', 'EUR'), 450)
  t.equal(fromDecimal('4', 'EUR'), 400)
  for (const wrong of ['', '1.999', '-1', '1e3', '1 000', 'x', '.5', '99999999999999999'])
    t.equal(fromDecimal(wrong, 'EUR'), undefined, wrong)
  t.equal(fromDecimal('1.5', 'JPY'), undefined)
})
