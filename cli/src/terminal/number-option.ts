import { noNumber } from '../failures/usage.ts'

/** The value of an option that takes an integer. Undefined if it is missing. */
export function numberOption(
  option: string,
  text: string | boolean | undefined,
  [least, most]: readonly [number, number] = [1, Number.MAX_SAFE_INTEGER],
): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (typeof text === 'string' && /^\d{1,15}$/.test(text) && number >= least && number <= most) return number
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`
  throw noNumber({ text: String(text), option, range })
}
