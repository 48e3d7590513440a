import { toDecimal } from '@mortise/module-sdk/money'
import { decimalsOf, fromDecimal, type Money } from '../money.ts'
import { texts } from '../texts.ts'

export interface Product {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly price: Money
  readonly stock: number | null
  readonly active: boolean
  readonly version: number
  readonly updatedAt: string
}

/** What the form has: text, as typed. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly price: string
  readonly stock: string
  readonly active: boolean
}

export const toDraft = ({ name, description, price, stock, active }: Product): Draft => ({
  name,
  description: description ?? '',
  price: toDecimal(price),
  stock: stock === null ? '' : String(stock),
  active,
})

export type Errors = Partial<Record<keyof Draft, string>>

/** Why a draft cannot be sent. */
export function errorsIn({ price, stock }: Draft, { currency }: Money): Errors {
  const t = texts.products
  return {
    ...(fromDecimal(price, currency) === undefined && { price: t.badPrice(currency, decimalsOf(currency)) }),
    ...(stock.trim() !== '' && !/^\s*\d{1,10}\s*$/.test(stock) && { stock: t.badStock }),
  }
}

/** The fields of a valid draft that differ from the product: the body of a PATCH. */
export function changesIn(draft: Draft, product: Product): Record<string, unknown> {
  const { currency } = product.price
  const before = toDraft(product)
  return {
    ...(draft.name !== before.name && { name: draft.name }),
    ...(draft.description !== before.description && { description: draft.description || null }),
    ...(draft.price !== before.price && { price: { amount: fromDecimal(draft.price, currency), currency } }),
    ...(draft.stock !== before.stock && { stock: draft.stock.trim() === '' ? null : Number(draft.stock) }),
    ...(draft.active !== before.active && { active: draft.active }),
  }
}

export const fields = ['name', 'price', 'stock', 'description', 'active'] as const

/** What was typed stays; fields that were not touched are as the host has them now. */
export function merged(draft: Draft, before: Product, now: Product): Draft {
  const [old, fresh] = [toDraft(before), toDraft(now)]
  const untouched = fields.filter((name) => draft[name] === old[name])
  return { ...draft, ...Object.fromEntries(untouched.map((name) => [name, fresh[name]])) }
}
