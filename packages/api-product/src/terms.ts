import type { Money } from '@mortise/module-sdk'

/**
 * What a product is found by: texts, in an index with the product. Products with a
 * term, or with any that begins with it, or with one between two, are a range of this index. A
 * product is in a range of each order that it can be listed in.
 *
 * The rules of a text are here, and in no collation of an engine or locale of a machine. A change of
 * them needs a way to make the terms of the products again.
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
/** A place inside a word is found by so many characters: a longer text is several conditions. */
const LONGEST_INSIDE = 10
/** A search has so many conditions at most, with its words. */
export const MOST_WORDS = 10

/** Any of the terms that begin with `text`. No text has this character. */
const beginsWith = (text: string): Range => ({ from: text, to: `${text}\u{10ffff}` })
/** The term itself: no text has a control character. */
const equals = (text: string): Range => ({ from: text, to: `${text}\x01` })

/** Marks on the letters of scripts whose readers leave them out. */
const MARKS = /(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{M}+/gu
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu

/** Text without case, widths and forms of letters, and without marks where readers leave them out. */
const fold = (text: string) =>
  text
    .normalize('NFKD')
    .replace(INVISIBLE, '')
    .replace(MARKS, '')
    // A capital ẞ becomes ß first, and then SS.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFC')

const cut = (text: string, length: number) => [...text].slice(0, length).join('')

const WORDS = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu
/** Scripts without blanks between words. */
const unspaced = '\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmr}\\p{scx=Mymr}'
const RUNS = new RegExp(`[${unspaced}]+|[^${unspaced}]+`, 'gu')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'u')

/** The words of a folded text: where the script changes, another one begins. */
const wordsOf = (text: string) =>
  fold(text)
    .match(WORDS)
    ?.flatMap((word) => word.match(RUNS) ?? []) ?? []

/** By which a word is found: its beginning, or each place inside if no blank shows where words begin. */
function* beginningsOf(word: string): Generator<string> {
  if (!isUnspaced.test(word)) yield cut(word, LONGEST_WORD)
  else for (const { index } of word.matchAll(/./gsu)) yield cut(word.slice(index), LONGEST_INSIDE)
}

/** What a product must have for a word of a search. */
function* partsOf(word: string): Generator<string> {
  if (!isUnspaced.test(word)) yield cut(word, LONGEST_WORD)
  else for (const [part] of word.matchAll(new RegExp(`.{1,${LONGEST_INSIDE}}`, 'gsu'))) yield part
}

const listOf = (active: boolean) => (active ? 'active' : 'inactive')
/** The order of the text is that of the number: no amount and no time has more digits. */
const digits = (number: number) => String(number).padStart(15, '0')
const attributeTerm = (name: string, value: string) => `attribute:${name.replace(/[\\:]/g, '\\$&')}:${value}`
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
  const words = wordsOf(`${name} ${id}`).flatMap((word) => [...beginningsOf(word)])
  return [
    createdTerm(product, active),
    nameTerm(product, active),
    ...prices.map((price) => priceTerm(active, price)),
    ...(group === null ? [] : [groupTerm(group)]),
    ...Object.entries(attributes).map(([name, value]) => attributeTerm(name, value)),
    ...Array.from(new Set(words), (word) => `word:${word}`),
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

/** All products of a list, in this order. `;` is the character after the colon. */
export function inOrder(order: 'createdAt' | 'name', active: boolean): Range {
  const list = `${listOf(active)}:${order}`
  return { from: `${list}:`, to: `${list};` }
}

/** Products by their price, in the order of the price. */
export const pricedFrom = (active: boolean, currency: string, least: number, most: number): Range => ({
  from: priceTerm(active, { currency, amount: least }),
  to: equals(priceTerm(active, { currency, amount: most })).to,
})

export const inGroup = (group: string): Range => equals(groupTerm(group))
export const withAttribute = (name: string, value: string): Range => equals(attributeTerm(name, value))
/** One for each word, or several for a long one inside. No product is in that of a text without words. */
export function withWords(text: string): Range[] {
  const parts = new Set(wordsOf(text).flatMap((word) => [...partsOf(word)]))
  const ranges = Array.from(parts, (part) => beginsWith(`word:${part}`))
  return ranges.length === 0 ? [{ from: 'word:', to: 'word:' }] : ranges
}
