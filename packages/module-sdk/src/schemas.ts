import {
  type ObjectOptions,
  type Static,
  type StringOptions,
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

// Patterns stand in the OpenAPI document, so they keep to what every regular expression engine reads: `\xhh`, and the
// characters themselves above that; no `\p`, no `\u`, no lookaround.

/** The control characters (Cc), for a class. */
const control = '\\x00-\\x1f\\x7f-\\x9f'
/**
 * All characters but those and the blanks (Z; White_Space has no others that are not Cc), for a class. The last range is
 * for engines that know UTF-16 alone, to which the one before ends with a surrogate.
 */
const visible =
  '\\x21-\\x7e\\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\u{10ffff}\ue000-\uffff'

/** The pattern of text without control characters. */
export const noControls = `^[^${control}]*$`

/**
 * Text of which at least one character is not blank and none is a control character. The pattern is blanks, a visible
 * character, and the rest: the first two have nothing in common, so matching takes linear time.
 */
export const VisibleText = (options: { maxLength: number } & StringOptions) =>
  Type.String({
    minLength: 1,
    pattern: `^[^${control}${visible}]*[${visible}][^${control}]*$`,
    description: `1 to ${options.maxLength} characters, no control characters, not only blanks`,
    ...options,
  })

/** RFC 3339, UTC, milliseconds: `2026-11-21T09:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })

/** A TypeID: `prefix_` and 26 characters of base32. */
export const Id = (prefix: string) =>
  Type.String({ description: `TypeID ${prefix}_…`, examples: [`${prefix}_01kahr3v8ze5x9g2w0m4c7t6ys`] })

/** Path parameters of one record. Any string: an id that cannot exist is not found, like one that does not. */
export const IdParams = Type.Object({ id: Type.String({ description: 'its id' }) })

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

const Total = Type.Integer({ description: 'how many there are on all pages' })

/** One page of a list: what `reply.paged` answers. A page of `Note` is called `NotePage`. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item),
      page: Type.Integer(),
      rpp: Type.Integer(),
      total: Total,
      pages: Type.Integer(),
    },
    titled(item, 'Page'),
  )

const titled = ({ title }: TSchema, suffix: string) =>
  title === undefined ? {} : { title: `${title}${suffix}` }

/**
 * What `reply.paged` answers on a list that takes `cursorQuery` as well. After a cursor there are `data` and `rpp` alone:
 * the rest would count what the caller is changing.
 */
export const CursorPageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item),
      page: Type.Optional(Type.Integer()),
      rpp: Type.Integer(),
      total: Type.Optional(Total),
      pages: Type.Optional(Type.Integer()),
    },
    titled(item, 'Page'),
  )

/** The query parameters of a paged list, for `Strict({ ...pageQuery })`. */
export const pageQuery = {
  page: Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1, description: 'which page' }),
  rpp: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'records per page' }),
}

/** Those of a paged list that is walked as it stood: its answer has an `until`, which comes back here. */
export const walkQuery = {
  ...pageQuery,
  until: Type.Optional(
    Type.String({ description: 'from a link of an earlier page: the list as it stood then' }),
  ),
}

/**
 * In addition to either: a list that can be worked through while it changes. The rows that follow `after` in the order of
 * the list, whatever became of that row; the host refuses it together with `page` or `until`.
 */
export const cursorQuery = {
  after: Type.Optional(
    Type.String({
      description:
        'instead of `page`: the id of the last row that you have, for the rows that follow it, whatever became of it. ' +
        'Use it when you change rows while you read the list',
    }),
  ),
}

/** The answer to a deletion. */
export const Deleted = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, { title: 'Deleted' })
export type Deleted = Static<typeof Deleted>
