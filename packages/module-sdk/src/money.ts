import type { Money } from './schemas.ts'

/**
 * The currencies and funds of ISO 4217 that have minor units, by the number of their decimals: list one
 * of 2026-01-01 (https://www.six-group.com/en/products-services/financial-information/market-reference-data/data-standards.html).
 * BGN is withdrawn since: a code stays here, so that stored amounts keep their decimals. Codes whose
 * minor unit is "N.A." (XAU, XDR, XTS, XXX and others) are none: no amount is counted in them.
 */
const byDigits: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF ' +
    'CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG ' +
    'HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR ' +
    'MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD ' +
    'SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD ' +
    'XCG YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
const digits = new Map(
  Object.entries(byDigits).flatMap(([number, codes]) =>
    codes.split(' ').map((code) => [code, Number(number)]),
  ),
)

/** All currencies that amounts are counted in, sorted. */
export const currencies: readonly string[] = [...digits.keys()].sort()

/**
 * The number of decimals of a currency by ISO 4217: 1999 with two of them is 19.99. Undefined for a
 * code that is no currency, or has no minor unit.
 */
export const currencyDigits = (code: string): number | undefined => digits.get(code)

/**
 * An amount as people write it, digit by digit: 1999 of EUR is `19.99`. Of a code that is no currency
 * it is the amount itself.
 */
export function toDecimal({ amount, currency }: Money): string {
  const decimals = currencyDigits(currency) ?? 0
  const sign = amount < 0 ? '-' : ''
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0')
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

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
