import t from 'tap'
import { formatMoney, fromDecimal, toDecimal } from '../page/src/money.ts'

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
