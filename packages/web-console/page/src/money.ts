/** An amount in minor units of a currency of ISO 4217, as the API has it. */
export interface Money {
  readonly amount: number
  readonly currency: string
}

/** How many decimals a currency has: 2 for EUR, 0 for JPY. */
export function decimalsOf(currency: string): number {
  try {
    return (
      new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ??
      2
    )
  } catch {
    return 2
  }
}

/** `1999` of EUR as `19.99`: digits only, no floating point. */
export function toDecimal({ amount, currency }: Money): string {
  const decimals = decimalsOf(currency)
  const sign = amount < 0 ? '-' : ''
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0')
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** `19.99` or `19,99` of EUR as 1999; undefined for what is no amount. */
export function fromDecimal(text: string, currency: string): number | undefined {
  const decimals = decimalsOf(currency)
  const [, whole, part = ''] = /^\s*(\d+)(?:[.,](\d*))?\s*$/.exec(text) ?? []
  if (whole === undefined || part.length > decimals) return undefined
  const amount = Number(whole + part.padEnd(decimals, '0'))
  return Number.isSafeInteger(amount) ? amount : undefined
}

/** For people: `€19.99`. */
export function formatMoney(money: Money | null | undefined): string {
  if (!money) return '—'
  const { currency } = money
  try {
    const format = new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
    })
    // A decimal text is formatted exactly.
    return format.format(toDecimal(money) as Intl.StringNumericLiteral)
  } catch {
    return `${toDecimal(money)} ${currency}`
  }
}
