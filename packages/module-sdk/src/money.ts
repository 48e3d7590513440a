import type { Money } from './schemas.ts'

/** The currencies of ISO 4217 that money is counted in, by the number of decimals of their amounts. */
const byDigits: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP ' +
    'CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR ' +
    'IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN ' +
    'NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP ' +
    'STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
}
const digits = new Map(
  Object.entries(byDigits).flatMap(([number, codes]) =>
    codes.split(' ').map((code) => [code, Number(number)]),
  ),
)

/**
 * The number of decimals of a currency by ISO 4217: 1999 with two of them is 19.99. Undefined for a
 * code that is no currency.
 */
export const currencyDigits = (code: string): number | undefined => digits.get(code)

/**
 * A price times a quantity. Undefined for an amount that is no safe integer: further ones are not
 * exact.
 */
export function timesMoney({ amount, currency }: Money, quantity: number): Money | undefined {
  return exact(amount * quantity, currency)
}

/**
 * The sum of amounts of one currency, at least one. Undefined for a sum that is no safe integer.
 * @throws {TypeError} for amounts of several currencies
 */
export function sumMoney([first, ...others]: readonly Money[]): Money | undefined {
  if (first === undefined) throw new TypeError('a sum of money needs an amount, which has a currency')
  let sum: Money | undefined = first
  for (const { amount, currency } of others) {
    if (currency !== first.currency) throw new TypeError(`${first.currency} and ${currency} have no sum`)
    sum = sum && exact(sum.amount + amount, currency)
  }
  return sum
}

const exact = (amount: number, currency: string) =>
  Number.isSafeInteger(amount) ? { amount, currency } : undefined
