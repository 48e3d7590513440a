import { currencyDigits, toDecimal } from '@mortise/module-sdk/money'

/** An amount in minor units of a currency of ISO 4217, as the API has it. */
export interface Money {
  readonly amount: number
  readonly currency: string
}

/** How many decimals a currency has: 2 for EUR, 0 for JPY, and for a code that is no currency. */
export const decimalsOf = (currency: string): number => currencyDigits(currency) ?? 0

/** `19.99` or `19,99` of EUR as 1999; undefined for what is no amount. */
export function fromDecimal(text: string, currency: string): number | undefined {
  const decimals = decimalsOf(currency)
  const [, whole, part = ''] = /^\s*(\d+)(?:[.,](\d*))?\s*$/.exec(text) ?? []
  if (whole === undefined || part.length > decimals) return undefined
  const amount = Number(whole + part.padEnd(decimals, '0'))
  return Number.isSafeInteger(amount) ? amount : undefined
}

/** For people: `€19.99`. The symbol is the browser's; the decimals are ours. */
export function formatMoney(money: Money | null | undefined): string {
  if (!money) return '—'
  const { currency } = money
  const decimals = currencyDigits(currency)
  if (decimals === undefined) return `${toDecimal(money)} ${currency}`
  const format = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
  // A decimal text is formatted exactly.
  return format.format(toDecimal(money) as Intl.StringNumericLiteral)
}
