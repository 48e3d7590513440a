import { noNumber } from '../failures/index.ts'

/** The value of an option that takes a number from 1 on. Undefined if it is missing. */
export function numberOption(name: string, text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw noNumber({ text: String(text), option: name })
}
