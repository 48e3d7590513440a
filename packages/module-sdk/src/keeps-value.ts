/** A literal this short, without an exponent, has at most 15 digits: a double keeps those. */
const SAFE_LENGTH = 15

/**
 * Whether JSON.parse keeps the value of a number in JSON (RFC 8259) rather than rounding it to an
 * integer, to zero or to Infinity: 9007199254740993 becomes 9007199254740992. An integer must be
 * exact. With a fraction or an exponent the shortest notation of a double counts as exact too,
 * because that is how clients write a double: 1.7976931348623157e308.
 */
export function keepsValue(literal: string): boolean {
  if (literal.length <= SAFE_LENGTH && !/e/i.test(literal)) return true
  const value = Number(literal)
  if (!Number.isFinite(value)) return false
  if (!Number.isInteger(value)) return true
  const written = normal(literal)
  return (
    written === normal(String(BigInt(value))) ||
    (!/^-?\d+$/.test(literal) && written === normal(String(value)))
  )
}

/** Significant digits and exponent, which are the same for each notation of a value. */
function normal(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(literal) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
