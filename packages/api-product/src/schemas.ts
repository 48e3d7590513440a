import {
  cursorQuery,
  FilePart,
  Id,
  Money,
  Nullable,
  pageQuery,
  Strict,
  Timestamp,
  VisibleText,
} from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

/** The `product` of carts and purchases. */
const ProductId = VisibleText({ maxLength: 128, examples: ['espresso-beans-1kg'] })
/** No path can name `.` and `..`: clients resolve them. */
const NewId = VisibleText({ ...ProductId, maxLength: 128, not: { enum: ['.', '..'] } })
/** 9,999 of the dearest product cost a safe integer. */
export const MAX_AMOUNT = 900_000_000_000
const MAX_STOCK = 1_000_000_000
const anything = '[^\\x00]'

const Price = Type.Object(
  {
    amount: Type.Integer({ minimum: 0, maximum: MAX_AMOUNT, description: 'in minor units, such as cents' }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217', examples: ['EUR'] }),
  },
  { title: 'Price', additionalProperties: false },
)

const Image = Type.Object(
  {
    url: Type.String({ maxLength: 2000, pattern: '^https?://[\\x21-\\x7e]+$' }),
    alt: Type.String({
      maxLength: 500,
      pattern: `^${anything}*$`,
      description: 'text without control characters: what the image shows',
    }),
  },
  { title: 'ProductImage', additionalProperties: false },
)

const Attributes = Type.Unsafe<Record<string, string>>({
  type: 'object',
  propertyNames: VisibleText({ maxLength: 100 }),
  additionalProperties: VisibleText({ maxLength: 100 }),
  maxProperties: 50,
  description: 'names with their values, both visible text without control characters',
  examples: [{ roast: 'dark', size: '1kg' }],
})

const Stock = Nullable(
  Type.Integer({ minimum: 0, maximum: MAX_STOCK, description: 'how many can be sold; null: any number' }),
)

/** What a manager sets. */
const settable = {
  name: VisibleText({ maxLength: 200, examples: ['Espresso beans, 1 kg'] }),
  description: Nullable(Type.String({ maxLength: 10_000, pattern: `^${anything}*$` })),
  images: Type.Array(Image, { maxItems: 20 }),
  attributes: Attributes,
  group: Nullable(
    VisibleText({ maxLength: 128, description: 'visible text that the variants of one thing share' }),
  ),
  price: Price,
  otherPrices: Type.Array(Price, { maxItems: 20, description: 'the price in other currencies' }),
  stock: Stock,
  active: Type.Boolean({ description: 'whether it may be sold' }),
}

export const Product = Type.Object(
  {
    id: ProductId,
    identity: Type.String({
      description: 'of this product alone: one that gets the id of a deleted product has another',
      examples: ['product_01kahr3v8ze5x9g2w0m4c7t6ys'],
    }),
    ...settable,
    price: Money,
    otherPrices: Type.Array(Money),
    version: Type.Integer({ description: 'increases with every change, also of the stock' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Product' },
)
export type Product = Static<typeof Product>

const { name, price } = settable
const optional = Type.Partial(Type.Object(settable)).properties

export const NewProduct = Strict({ id: NewId, ...optional, name, price }, { title: 'NewProduct' })
export type NewProduct = Static<typeof NewProduct>

/** A product of a file. */
export const ImportedProduct = Strict(
  {
    ...NewProduct.properties,
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'as exported: the product is left alone if it has changed since',
      }),
    ),
  },
  { title: 'ImportedProduct' },
)
export type ImportedProduct = Static<typeof ImportedProduct>

export const ProductChange = Strict(optional, { title: 'ProductChange', minProperties: 1 })
export type ProductChange = Static<typeof ProductChange>

export const ProductChanged = Type.Object({
  change: Type.Unsafe<'created' | 'changed' | 'deleted'>({
    type: 'string',
    enum: ['created', 'changed', 'deleted'],
  }),
  product: Type.Object(Product.properties, { description: 'as it is now, or was before its deletion' }),
})
export type ProductChanged = Static<typeof ProductChanged>

export const orders = ['createdAt', '-createdAt', 'name', '-name', 'price', '-price'] as const
/** A filter has so many attributes at most. */
const MAX_ATTRIBUTES = 10
/** Characters of a text in a list: a backslash takes away the meaning of the next one. */
const escaped = (special: string) => `([^\\x00-\\x1f\\x7f-\\x9f\\\\${special}]|\\\\[\\\\,:])+`
const oneAttribute = `${escaped(',:')}:${escaped(',')}`
const Amount = Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_AMOUNT, description: 'in `currency`' }))

export const ProductQuery = Strict({
  ...pageQuery,
  ...cursorQuery,
  q: Type.Optional(
    VisibleText({
      maxLength: 100,
      description:
        'words, at most 10, that each begin a word of the name or the id, or are inside one in scripts without blanks; case does not matter, nor do marks on Latin, Greek and Cyrillic letters',
      examples: ['espresso'],
    }),
  ),
  active: Type.Unsafe<'true' | 'false'>({
    type: 'string',
    enum: ['true', 'false'],
    default: 'true',
    description: 'whether the products may be sold',
  }),
  group: Type.Optional(VisibleText({ maxLength: 128 })),
  attributes: Type.Optional(
    Type.String({
      maxLength: 2000,
      pattern: `^${oneAttribute}(,${oneAttribute}){0,${MAX_ATTRIBUTES - 1}}$`,
      description: `names with their values, each name once, comma-separated, at most ${MAX_ATTRIBUTES}: a product must have them all. Write \\ before a comma or a backslash in a text, and before a colon in a name`,
      examples: ['roast:dark,size:1kg'],
    }),
  ),
  currency: Type.Optional(
    Type.String({
      pattern: '^[A-Z]{3}$',
      description:
        'three capital letters (ISO 4217): only products with a price in it; `minPrice`, `maxPrice` and sorting by price need it',
    }),
  ),
  minPrice: Amount,
  maxPrice: Amount,
  sort: Type.Unsafe<(typeof orders)[number]>({
    type: 'string',
    enum: [...orders],
    default: '-createdAt',
    description: 'the first is the smallest, or with `-` the largest',
  }),
})
export type ProductQuery = Static<typeof ProductQuery>

const ImportFormat = Type.Unsafe<'csv' | 'jsonl'>({ type: 'string', enum: ['csv', 'jsonl'] })
export type ImportFormat = Static<typeof ImportFormat>
const skipInvalid = Type.Boolean({
  description:
    'true: store the other products of a file with errors, or with products that have changed since their export; otherwise such a file changes nothing',
})
const importStock = Type.Unsafe<'leave' | 'set'>({
  type: 'string',
  enum: ['leave', 'set'],
  description:
    'set: products that are there get the stock of the file; leave (the default): only new ones do',
})

export const NewImport = Strict(
  {
    file: FilePart({
      maxLength: 8 * 1024 * 1024,
      description: 'text in UTF-8, or in UTF-16 with a byte order mark',
    }),
    format: ImportFormat,
    skipInvalid: Type.Optional(skipInvalid),
    stock: Type.Optional(importStock),
  },
  { title: 'NewProductImport' },
)
export type NewImport = Static<typeof NewImport>

const ImportError = Type.Object(
  {
    line: Type.Integer({ description: 'of the file, from 1' }),
    pointer: Type.String({ description: 'a JSON Pointer into the product' }),
    detail: Type.String(),
  },
  { title: 'ProductImportError' },
)
export type ImportError = Static<typeof ImportError>

const ImportStatus = Type.Unsafe<'waiting' | 'running' | 'completed' | 'refused' | 'failed'>({
  type: 'string',
  enum: ['waiting', 'running', 'completed', 'refused', 'failed'],
  description:
    'waiting: it is checked first; refused: it has errors, so it has changed nothing; failed: it was given up, see failure',
})

export const Import = Type.Object(
  {
    id: Id('import'),
    format: ImportFormat,
    skipInvalid,
    stock: importStock,
    separator: Nullable(
      Type.String({
        description:
          'what separates the cells: comma, semicolon or tab; null while it waits, and without cells',
      }),
    ),
    status: ImportStatus,
    products: Nullable(Type.Integer({ description: 'the products of the file; null while it waits' })),
    done: Type.Integer({ description: 'how many of them are stored or skipped' }),
    created: Type.Integer({ description: 'how many were new' }),
    changed: Type.Integer({ description: 'how many were changed; the others were the same already' }),
    skipped: Type.Integer({ description: 'how many were left out: see errors' }),
    errorCount: Type.Integer(),
    errors: Type.Array(ImportError, { description: 'the first 100' }),
    failure: Nullable(Type.String({ description: 'why it was given up, for people' })),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    expiresAt: Timestamp,
  },
  { title: 'ProductImport' },
)
export type Import = Static<typeof Import>
