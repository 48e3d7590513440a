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
const PurchaseNote = VisibleText({ maxLength: 1000, examples: ['Leave it at the door.'] })
const Reference = VisibleText({
  maxLength: 128,
  description: 'visible text of the caller',
  examples: ['PO-2026-118'],
})

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
    identity: Type.Optional(
      Type.String({ description: 'of the product, whatever gets its id later; with a catalogue only' }),
    ),
  },
  { title: 'PurchaseItem' },
)
export type PurchaseItem = Static<typeof PurchaseItem>

/** A part of the total beside the totals of lines. */
export const Adjustment = Type.Object(
  {
    kind: Type.Unsafe<'discount' | 'tax' | 'fee'>({ type: 'string', enum: ['discount', 'tax', 'fee'] }),
    id: Type.String({ description: 'of the rule' }),
    label: Type.String({ description: 'for people' }),
    amount: Type.Unsafe<Money>({ ...Money, description: 'added to the total' }),
    product: Type.Optional(Type.String({ description: 'of the line; absent for all lines' })),
  },
  { title: 'PurchaseAdjustment' },
)
export type Adjustment = Static<typeof Adjustment>

const summary = {
  id: Id('purchase'),
  number: Type.Integer({ description: 'for people: it rises with each purchase of the application' }),
  status: Status,
  itemCount: Type.Integer({ description: 'the number of items' }),
  totalQuantity: Type.Integer({ description: 'the sum of their quantities' }),
  total: Nullable({ ...Money, description: 'null without a product catalogue' }),
  note: Nullable(PurchaseNote),
  reference: Nullable(Reference),
  version: Type.Integer({ description: 'increases with every change' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  owner: Type.Optional(
    Type.String({ description: 'the id of the caller who created it: for purchase:read' }),
  ),
}

/** Absent for a purchase that was made without the contract `pricing`. */
const adjustments = Type.Optional(
  Type.Array(Adjustment, { description: 'discounts, taxes and fees at the time of the purchase' }),
)

export const PurchaseSummary = Type.Object(
  {
    ...summary,
    items: Type.Optional(Type.Array(PurchaseItem, { description: 'with `expand=items`' })),
    adjustments,
  },
  { title: 'PurchaseSummary' },
)
export type PurchaseSummary = Static<typeof PurchaseSummary>

export const Purchase = Type.Object(
  { ...summary, items: Type.Array(PurchaseItem), adjustments },
  { title: 'Purchase' },
)
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
    note: Type.Optional(PurchaseNote),
    reference: Type.Optional(Reference),
    expectedTotal: Type.Optional(
      Type.Unsafe<Money>({ ...Money, description: 'the total that the buyer has seen: another one is 409' }),
    ),
    dryRun: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'whether to respond as if, and store nothing: there is no purchase with that id',
      }),
    ),
  },
  { title: 'NewPurchase' },
)
export type NewPurchase = Static<typeof NewPurchase>

export const PurchaseChange = Strict({ status: Status }, { title: 'PurchaseChange' })

const oneStatus = `(${statuses.join('|')})`

const moment = (description: string) => Type.String({ ...Timestamp, description })

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
  createdAfter: Type.Optional(moment('only purchases that are newer')),
  createdBefore: Type.Optional(moment('only purchases that are older')),
  product: Type.Optional(Product),
  number: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'only the purchase with this number',
    }),
  ),
  expand: Type.Optional(Type.Literal('items', { description: 'whether each purchase has its items' })),
})
export type PurchaseQuery = Static<typeof PurchaseQuery>
