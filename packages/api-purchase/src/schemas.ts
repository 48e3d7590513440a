import {
  cursorQuery,
  Id,
  Money,
  Nullable,
  Strict,
  Timestamp,
  VisibleText,
  walkQuery,
} from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'
import { Status, statuses } from './status.ts'

const Product = VisibleText({ maxLength: 128, examples: ['espresso-beans-1kg'] })
/** The largest quantity of an item. */
export const MAX_QUANTITY = 9999
const Quantity = Type.Integer({ minimum: 1, maximum: MAX_QUANTITY })
const Note = VisibleText({ maxLength: 200, examples: ['ground, for a moka pot'] })

export const PurchaseItem = Type.Object(
  {
    id: Id('item'),
    product: Product,
    quantity: Quantity,
    note: Nullable(Note),
    name: Nullable(
      Type.String({ description: 'as at the time of the purchase; null without a product catalogue' }),
    ),
    unitPrice: Nullable(Money),
    lineTotal: Nullable(Money),
  },
  { title: 'PurchaseItem' },
)
export type PurchaseItem = Static<typeof PurchaseItem>

const summary = {
  id: Id('purchase'),
  status: Status,
  itemCount: Type.Integer({ description: 'the number of items' }),
  totalQuantity: Type.Integer({ description: 'the sum of their quantities' }),
  total: Nullable(Money),
  version: Type.Integer({ description: 'increases with every change' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  owner: Type.Optional(
    Type.String({ description: 'the id of the caller who created it: for purchase:read' }),
  ),
}

export const PurchaseSummary = Type.Object(summary, { title: 'PurchaseSummary' })
export type PurchaseSummary = Static<typeof PurchaseSummary>

export const Purchase = Type.Object({ ...summary, items: Type.Array(PurchaseItem) }, { title: 'Purchase' })
export type Purchase = Static<typeof Purchase>

const NewPurchaseItem = Strict(
  { product: Product, quantity: Quantity, note: Type.Optional(Note) },
  { title: 'NewPurchaseItem' },
)

export const NewPurchase = Strict(
  {
    items: Type.Array(NewPurchaseItem, {
      minItems: 1,
      maxItems: 200,
      description: 'a repeated product becomes one item with the sum, at most 9999, and the last note',
    }),
    takeFromCart: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'whether to remove exactly these quantities from the cart',
      }),
    ),
  },
  { title: 'NewPurchase' },
)
export type NewPurchase = Static<typeof NewPurchase>

export const PurchaseChange = Strict({ status: Status }, { title: 'PurchaseChange' })

const oneStatus = `(${statuses.join('|')})`

export const PurchaseQuery = Strict({
  ...walkQuery,
  ...cursorQuery,
  status: Type.Optional(
    Type.String({
      pattern: `^${oneStatus}(,${oneStatus})*$`,
      description: `one or more of ${statuses.join(', ')}, comma-separated`,
      examples: ['pending,confirmed'],
    }),
  ),
  owner: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'the id of a caller, or * for all callers: with purchase:read',
    }),
  ),
})
export type PurchaseQuery = Static<typeof PurchaseQuery>
