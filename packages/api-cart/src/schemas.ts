import { Id, Money, Nullable, Strict, Timestamp, VisibleText } from '@mortise/module-sdk'
import { type Static, type TSchema, Type } from '@sinclair/typebox'

export const Product = VisibleText({ maxLength: 128, examples: ['espresso-beans-1kg'] })
/** The largest quantity of an item. */
export const MAX_QUANTITY = 9999
export const Quantity = Type.Integer({ minimum: 1, maximum: MAX_QUANTITY })
export const Note = VisibleText({ maxLength: 200, examples: ['ground, for a moka pot'] })

const Image = Type.Object(
  { url: Type.String(), alt: Type.String({ description: 'what the image shows' }) },
  { title: 'CartItemImage' },
)

/** Why a line could not be purchased as it is. */
export const Warning = Type.Object(
  {
    code: Type.Unsafe<'unknown-product' | 'inactive-product' | 'out-of-stock'>({
      type: 'string',
      enum: ['unknown-product', 'inactive-product', 'out-of-stock'],
    }),
    available: Type.Optional(Type.Integer({ description: 'the stock, if the line has more' })),
  },
  { title: 'CartItemWarning' },
)
export type Warning = Static<typeof Warning>

export const CartItem = Type.Object(
  {
    id: Id('item'),
    product: Product,
    quantity: Quantity,
    note: Nullable(Note),
    name: Nullable(Type.String({ description: 'as it is now; null without a product catalogue' })),
    image: Type.Optional(Nullable(Image)),
    unitPrice: Nullable(Money),
    lineTotal: Nullable(Money),
    warnings: Type.Optional(
      Type.Array(Warning, { description: 'why the line could not be purchased; with a catalogue only' }),
    ),
    version: Type.Integer({ description: 'increases with every change of this item' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'CartItem' },
)
export type CartItem = Static<typeof CartItem>

/** A part of the total beside the totals of lines. */
const Adjustment = Type.Object(
  {
    kind: Type.Unsafe<'discount' | 'tax' | 'fee'>({ type: 'string', enum: ['discount', 'tax', 'fee'] }),
    id: Type.String({ description: 'of the rule' }),
    label: Type.String({ description: 'for people' }),
    amount: Type.Unsafe<Money>({ ...Money, description: 'added to the total' }),
    product: Type.Optional(Type.String({ description: 'of the line; absent for all lines' })),
  },
  { title: 'CartAdjustment' },
)

export const Reservation = Type.Object(
  {
    expiresAt: Type.String({
      ...Timestamp,
      description: 'when the stock is given back, at the latest within a minute',
    }),
    items: Type.Array(Type.Object({ product: Product, quantity: Quantity }), {
      description: 'what is reserved: the lines, except products with unlimited stock',
    }),
  },
  { title: 'CartReservation' },
)
export type Reservation = Static<typeof Reservation>

export const Cart = Type.Object(
  {
    id: Nullable(Id('cart')),
    items: Type.Array(CartItem, { description: 'oldest first' }),
    itemCount: Type.Integer({ description: 'the number of items' }),
    totalQuantity: Type.Integer({ description: 'the sum of their quantities' }),
    adjustments: Type.Optional(
      Type.Array(Adjustment, { description: 'discounts, taxes and fees; with a module for them only' }),
    ),
    reservation: Type.Optional(Reservation),
    total: Nullable({
      ...Money,
      description:
        'null without a catalogue, for prices in several currencies, or for a line without a price',
    }),
    version: Type.Integer({ description: 'increases with every change in the cart' }),
    createdAt: Nullable(Timestamp),
    updatedAt: Nullable(Timestamp),
    expiresAt: Nullable(Timestamp),
  },
  { title: 'Cart' },
)
export type Cart = Static<typeof Cart>

export const NewItem = Strict(
  { product: Product, quantity: Quantity, note: Type.Optional(Note) },
  { title: 'NewCartItem' },
)
export type NewItem = Static<typeof NewItem>

export const NewContents = Strict(
  { items: Type.Array(NewItem, { maxItems: 200, description: 'each product once' }) },
  { title: 'NewCartContents' },
)
export type NewContents = Static<typeof NewContents>

export const ItemChange = Strict(
  { quantity: Type.Optional(Quantity), note: Type.Optional(Nullable(Note)) },
  { title: 'CartItemChange', minProperties: 1 },
)
export type ItemChange = Static<typeof ItemChange>

/** The request headers of a write to an item. */
export const Preference = Type.Object({
  prefer: Type.Optional(
    Type.String({ description: '`return=representation`: respond with the whole cart (RFC 7240)' }),
  ),
})

/** The response to a write to an item: the whole cart for `Prefer: return=representation`. */
export const orCart = <Schema extends TSchema>(schema: Schema, description = 'or the cart, if preferred') =>
  Type.Union([schema, Cart], { description })

export const Emptied = Type.Object({ deleted: Type.Literal(true) }, { title: 'Emptied' })
