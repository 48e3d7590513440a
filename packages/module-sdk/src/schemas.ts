import {
  type ObjectOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'

/** An amount in integer minor units (cents) and its ISO 4217 currency. */
export const Money = Type.Object(
  { amount: Type.Integer(), currency: Type.String({ pattern: '^[A-Z]{3}$' }) },
  { title: 'Money', additionalProperties: false, description: 'integer minor units, ISO 4217 currency' },
)

/**
 * What is bought, by the name its catalogue knows it by: opaque, compared exactly as sent. At least one character
 * is not blank (Unicode White_Space, which without control characters is `\p{Z}`); none is a control character.
 * The classes of the pattern are disjoint, so that matching takes linear time.
 */
export const Product = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^\\p{Z}*[^\\p{Z}\\p{Cc}]\\P{Cc}*$',
  description: '1 to 128 characters, no control characters, not only blanks',
  examples: ['espresso-beans-1kg'],
})

/** The most of one product that a line may hold. */
export const MAX_QUANTITY = 9999

/** How many of a product a line holds. */
export const Quantity = Type.Integer({ minimum: 1, maximum: MAX_QUANTITY })

/** RFC 3339, UTC, milliseconds: `2026-11-21T09:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })

/** A TypeID: `prefix_` and 26 characters of base32. */
export const Id = (prefix: string) =>
  Type.String({ description: `TypeID ${prefix}_…`, examples: [`${prefix}_01kahr3v8ze5x9g2w0m4c7t6ys`] })

/** Path parameters of one record. Any string: an id that cannot exist is not found, like one that does not. */
export const IdParams = Type.Object({ id: Type.String() })

/** A schema of one type, or null. (`type: ['string', 'null']` is serialized three times as fast as an `anyOf`.) */
export const Nullable = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })

/** An object that takes no fields but these: what a client sends. */
export const Strict = <Properties extends TProperties>(
  properties: Properties,
  options: ObjectOptions = {},
): TObject<Properties> => Type.Object(properties, { ...options, additionalProperties: false })

/** `{ data: [ … ] }`; a list of `Note` is called `NoteList`. */
export const List = <Item extends TSchema>(item: Item) =>
  Type.Object({ data: Type.Array(item) }, titled(item, 'List'))

/** One page of a list: what `reply.paged` answers. A page of `Note` is called `NotePage`. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item),
      page: Type.Integer(),
      rpp: Type.Integer(),
      total: Type.Integer({ description: 'how many there are on all pages' }),
      pages: Type.Integer(),
    },
    titled(item, 'Page'),
  )

const titled = ({ title }: TSchema, suffix: string) =>
  title === undefined ? {} : { title: `${title}${suffix}` }

/** The query parameters of a paged list, for `Strict({ ...pageQuery })`. */
export const pageQuery = {
  page: Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1 }),
  rpp: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'records per page' }),
}

/** Those of a paged list that is walked as it stood: its answer has an `until`, which comes back here. */
export const walkQuery = {
  ...pageQuery,
  until: Type.Optional(
    Type.String({ description: 'from a link of an earlier page: the list as it stood then' }),
  ),
}

/** The answer to a deletion. */
export const Deleted = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, { title: 'Deleted' })
