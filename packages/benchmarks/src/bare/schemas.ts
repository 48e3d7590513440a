import { Id, Money, Nullable, Strict, Timestamp, VisibleText } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

// The two modules' schemas for validation and serialization, limited to the three routes.

const Product = VisibleText({ maxLength: 128 })
const Quantity = Type.Integer({ minimum: 1, maximum: 9999 })

const priced = {
  note: Nullable(Type.String()),
  name: Nullable(Type.String()),
  unitPrice: Nullable(Money),
  lineTotal: Nullable(Money),
}

export const CartItem = Type.Object({
  id: Id('item'),
  product: Product,
  quantity: Quantity,
  ...priced,
  version: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const Cart = Type.Object({
  id: Nullable(Id('cart')),
  items: Type.Array(CartItem),
  itemCount: Type.Integer(),
  totalQuantity: Type.Integer(),
  total: Nullable(Money),
  version: Type.Integer(),
  createdAt: Nullable(Timestamp),
  updatedAt: Nullable(Timestamp),
  expiresAt: Nullable(Timestamp),
})

export const NewItem = Strict({ product: Product, quantity: Quantity })

export const NewPurchase = Strict({ items: Type.Array(NewItem, { minItems: 1, maxItems: 200 }) })

export const Purchase = Type.Object({
  id: Id('purchase'),
  number: Type.Integer(),
  status: Type.String(),
  itemCount: Type.Integer(),
  totalQuantity: Type.Integer(),
  total: Nullable(Money),
  note: Nullable(Type.String()),
  reference: Nullable(Type.String()),
  version: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  items: Type.Array(Type.Object({ id: Id('item'), product: Product, quantity: Quantity, ...priced })),
})
