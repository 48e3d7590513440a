import t from 'tap'
import { currencyDigits, sumMoney, timesMoney } from '../src/index.ts'

const euros = (amount: number) => ({ amount, currency: 'EUR' })

t.test('each currency has its number of decimals', async (t) => {
  t.strictSame(['EUR', 'JPY', 'KWD', 'EURO', 'ABC', ''].map(currencyDigits), [
    2,
    0,
    3,
    undefined,
    undefined,
    undefined,
  ])
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
