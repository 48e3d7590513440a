import type { Money } from '@mortise/module-sdk'

/**
 * What a product is found by: texts, in an index with the product. Products with a
 * term, or with any that begins with it, or with one between two, are a range of this index. A
 * product is in a range of each order that it can be listed in.
 */

/** The terms with `from <= term < to`. */
export interface Range {
  readonly from: string
  readonly to: string
}

/** What the terms of a product come from. */
export interface Described {
  readonly id: string
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly group: string | null
  readonly prices: readonly Money[]
  readonly active: boolean
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** What is longer is cut, since an index of PostgreSQL has a limit. In characters. */
const LONGEST_WORD = 40
const LONGEST_NAME = 100

/** Any of the terms that begin with `text`. No text has this character. */
const beginsWith = (text: string): Range => ({ from: text, to: `${text}\u{10ffff}` })
/** The term itself: no text has a control character. */
const equals = (text: string): Range => ({ from: text, to: `${text}\x01` })

/** Text without case and accents. */
const fold = (text: string) =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase().replaceAll('ς', 'σ')

const cut = (text: string, length: number) => [...text].slice(0, length).join('')

/** The words of a text, folded. */
const wordsOf = (text: string) =>
  new Set((fold(text).match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => cut(word, LONGEST_WORD)))

const listOf = (active: boolean) => (active ? 'active' : 'inactive')
/** The order of the text is that of the number: no amount and no time has more digits. */
const digits = (number: number) => String(number).padStart(15, '0')
const attributeTerm = (name: string, value: string) => `attribute:${name}:${value}`
const groupTerm = (group: string) => `group:${group}`
const priceTerm = (active: boolean, { currency, amount }: Money) =>
  `${listOf(active)}:price:${currency}:${digits(amount)}`
const createdTerm = ({ createdAt }: Described, active: boolean) =>
  `${listOf(active)}:createdAt:${digits(createdAt)}`
const nameTerm = ({ name }: Described, active: boolean) =>
  `${listOf(active)}:name:${cut(fold(name), LONGEST_NAME)}`

export type Order = 'createdAt' | 'name' | 'price'

/** All terms of a product, each once. */
export function termsOf(product: Described): string[] {
  const { id, name, attributes, group, prices, active } = product
  return [
    createdTerm(product, active),
    nameTerm(product, active),
    ...prices.map((price) => priceTerm(active, price)),
    ...(group === null ? [] : [groupTerm(group)]),
    ...Object.entries(attributes).map(([name, value]) => attributeTerm(name, value)),
    ...Array.from(wordsOf(`${name} ${id}`), (word) => `word:${word}`),
  ]
}

/**
 * The term by which a product is on a list. Undefined if it has none: it has no price in this
 * currency.
 */
export function placeOf(
  product: Described,
  order: Order,
  active: boolean,
  currency: string | undefined,
): string | undefined {
  if (order === 'createdAt') return createdTerm(product, active)
  if (order === 'name') return nameTerm(product, active)
  const price = product.prices.find((one) => one.currency === currency)
  return price && priceTerm(active, price)
}

/** All products of a list, in this order. */
export const inOrder = (order: 'createdAt' | 'name', active: boolean): Range =>
  beginsWith(`${listOf(active)}:${order}:`)

/** Products by their price, in the order of the price. */
export const pricedFrom = (active: boolean, currency: string, least: number, most: number): Range => ({
  from: priceTerm(active, { currency, amount: least }),
  to: equals(priceTerm(active, { currency, amount: most })).to,
})

export const inGroup = (group: string): Range => equals(groupTerm(group))
export const withAttribute = (name: string, value: string): Range => equals(attributeTerm(name, value))
/** One for each word. No product is in that of a text without words. */
export function withWords(text: string): Range[] {
  const words = Array.from(wordsOf(text), (word) => beginsWith(`word:${word}`))
  return words.length === 0 ? [{ from: 'word:', to: 'word:' }] : words
}
