import type { Readable } from 'node:stream'
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
export type Money = Static<typeof Money>

// The OpenAPI document contains these patterns, so they use only what every regular expression
// engine understands: `\xhh`, and literal characters above that. No `\p`, no `\u`, no lookaround.

/** The control characters (Cc), for a character class. */
const control = '\\x00-\\x1f\\x7f-\\x9f'
/**
 * Blanks (White_Space) and characters that show nothing (Default_Ignorable_Code_Point, the marks of
 * annotations, the empty Braille cell), for a character class. Those above U+FFFF are left out:
 * engines that work on UTF-16 code units cannot have them in a class. U+2027, a hyphenation point, is
 * in because U+2028 as the first of a range would end a regular expression in JavaScript source.
 */
const invisible =
  '\\x20\\xa0\\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2027-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb'

/** A pattern for text without control characters. */
export const noControls = `^[^${control}]*$`

/**
 * Text with at least one visible character and no control character. The pattern is:
 * invisible characters, a visible one, the rest. The first two do not overlap, so matching takes
 * linear time.
 */
export const VisibleText = (options: { maxLength: number } & StringOptions) =>
  Type.String({
    minLength: 1,
    pattern: `^[${invisible}]*[^${control}${invisible}][^${control}]*$`,
    description: `1 to ${options.maxLength} characters, no control characters, at least one visible`,
    ...options,
  })

/** RFC 3339, UTC, milliseconds: `2026-11-21T09:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })

/** A TypeID: `prefix_` and 26 characters of base32. */
export const Id = (prefix: string) =>
  Type.String({ description: `TypeID ${prefix}_…`, examples: [`${prefix}_01kahr3v8ze5x9g2w0m4c7t6ys`] })

/**
 * The path parameter of one record. It accepts any string: an impossible id gives 404, like an
 * unknown one.
 */
export const IdParams = Type.Object({ id: Type.String({ description: 'its id' }) })

/**
 * A schema of one type, or null. (Serializing `type: ['string', 'null']` is three times as fast as
 * `anyOf`.)
 */
export const Nullable = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })

/** An object without additional properties, for input from clients. */
export const Strict = <Properties extends TProperties>(
  properties: Properties,
  options: ObjectOptions = {},
): TObject<Properties> => Type.Object(properties, { ...options, additionalProperties: false })

/** `{ data: [ … ] }`. The title of a list of `Note` is `NoteList`. */
export const List = <Item extends TSchema>(item: Item) =>
  Type.Object({ data: Type.Array(item) }, titled(item, 'List'))

const Total = Type.Integer({ description: 'the number of rows on all pages, at most 10,000' })
const TotalIsExact = Type.Boolean({
  description: 'false: the list has more than 10,000 rows. Use `after` for those beyond',
})

/** One page of a list, as `reply.paged` returns it. The title of a page of `Note` is `NotePage`. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item),
      page: Type.Integer(),
      rpp: Type.Integer(),
      total: Total,
      totalIsExact: TotalIsExact,
      pages: Type.Integer(),
    },
    titled(item, 'Page'),
  )

const titled = ({ title }: TSchema, suffix: string) =>
  title === undefined ? {} : { title: `${title}${suffix}` }

/**
 * The response of `reply.paged` for a list that also accepts `cursorQuery`. After a cursor it has
 * only `data` and `rpp`: the other members would count rows that the caller is changing.
 */
export const CursorPageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      data: Type.Array(item),
      page: Type.Optional(Type.Integer()),
      rpp: Type.Integer(),
      total: Type.Optional(Total),
      totalIsExact: Type.Optional(TotalIsExact),
      pages: Type.Optional(Type.Integer()),
    },
    titled(item, 'Page'),
  )

/** The query parameters of a paged list, for `Strict({ ...pageQuery })`. */
export const pageQuery = {
  page: Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    default: 1,
    description: 'the number of the page',
  }),
  rpp: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'rows per page' }),
}

/**
 * The query parameters of a paged list that is walked as it was at the start: its response has an
 * `until`, and the client sends it back here.
 */
export const walkQuery = {
  ...pageQuery,
  until: Type.Optional(Type.String({ description: 'from a link of an earlier page: the time of that list' })),
}

/**
 * Query parameters in addition to either of these, for a list that clients process while it
 * changes. They return the rows after `after` in list order, even if that row has changed or gone.
 * The host rejects `after` together with `page` or `until`.
 */
export const cursorQuery = {
  after: Type.Optional(
    Type.String({
      description:
        'instead of `page`: the id of the last row that you have; returns the rows after it, even if that row was deleted. ' +
        'Use it if you change rows while you read the list',
    }),
  ),
}

/**
 * A response that is sent as it is: the handler sets `reply.type(mediaType)` and returns bytes or a
 * stream, which the host reads as fast as the client does. A response of `request.transaction` is
 * JSON.
 */
export const Binary = (mediaType: string, description = 'the bytes') =>
  Type.Unsafe<Readable | Uint8Array>({
    description,
    content: {
      [mediaType]: { schema: { type: 'string', format: 'binary', contentMediaType: mediaType } },
    },
  })

/** The response to a deletion. */
export const Deleted = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, { title: 'Deleted' })
export type Deleted = Static<typeof Deleted>
