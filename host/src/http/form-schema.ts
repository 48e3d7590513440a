import { MOST_BYTES } from '@mortise/module-sdk/host'
import type { TSchema } from '@sinclair/typebox'
import { BODY_LIMIT } from './discard-body.ts'

// A body with a file (`FilePart` of the SDK) is a form: each property is a part of
// multipart/form-data.

/** A file as `FilePart` declares it. */
export interface FileSchema {
  readonly maxLength: number
  /** All if undefined. `image/*` is all images. */
  readonly mediaTypes?: readonly string[]
}

export interface Form {
  readonly files: ReadonlyMap<string, FileSchema>
  /** All other parts. */
  readonly fields: ReadonlyMap<string, TSchema>
  /** The most bytes of a body: of all files, and as many as another body may have. */
  readonly bodyLimit: number
}

const isFile = ({ type, format }: TSchema) => type === 'string' && format === 'binary'

/** Undefined for a body without a file. */
export function formOf(body: unknown): Form | undefined {
  const all = Object.entries((body as TSchema | undefined)?.properties ?? {}) as [string, TSchema][]
  const { true: files = [], false: fields } = Object.groupBy(all, ([, schema]) => `${isFile(schema)}`)
  if (files.length === 0) return undefined
  const schemas = new Map(files as [string, TSchema & FileSchema][])
  const length = [...schemas.values()].reduce((sum, { maxLength }) => sum + maxLength, 0)
  return { files: schemas, fields: new Map(fields), bodyLimit: length + BODY_LIMIT }
}

/** How a route takes its body. */
export const mediaTypeOf = (form: Form | undefined) =>
  form === undefined ? 'application/json' : 'multipart/form-data'

/** The schema of the parsed body: files are checked when they are read. */
export function withoutFiles(body: TSchema): TSchema {
  const form = formOf(body)
  if (form === undefined) return body
  const files = Object.fromEntries(Array.from(form.files.keys(), (name) => [name, {}]))
  return { ...body, properties: { ...body.properties, ...files } }
}

/** Why no client could send such a body; undefined for one that is no form, or a good one. */
export function formFault(body: unknown): string | undefined {
  const form = formOf(body)
  const nested = Object.entries((body as TSchema | undefined)?.properties ?? {}).find(
    ([name, schema]) => !form?.files.has(name) && hasFile(schema),
  )
  if (nested) return `has a file inside of "${nested[0]}": name each FilePart at the top of the body`
  if (form === undefined) return undefined
  for (const [name, { type }] of form.fields) {
    const isPlain = [type].flat().every((one) => one !== 'array' && one !== 'object')
    if (!isPlain) return `has "${name}" beside a file, and a form has only text, numbers and booleans`
  }
  if (form.bodyLimit - BODY_LIMIT <= MOST_BYTES) return undefined
  return `takes files of ${form.bodyLimit - BODY_LIMIT} bytes together, and ${MOST_BYTES} is the most: lower their maxLength`
}

const hasFile = (schema: unknown): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  (isFile(schema as TSchema) || Object.values(schema).some(hasFile))
