import { Type } from '@sinclair/typebox'
import { MOST_BYTES } from './sql.ts'

/** A file that a client has sent, whole. */
export interface ReceivedFile {
  /** As the client named it, without folders: a text to show, never a path. '' without a name. */
  readonly name: string
  /** As the client named it, in lower case and without parameters: `image/png`. */
  readonly mediaType: string
  /** A value for a BYTEA column. */
  readonly bytes: Uint8Array
}

/** What a file of a form may be. */
export interface FilePartOptions {
  /** What the client may send: `['image/png', 'image/jpeg']`, or `['image/*']`. All by default. */
  readonly mediaTypes?: readonly string[]
  /** The most bytes: 1 MiB by default, 16 MiB at most, for all files of a route together. */
  readonly maxLength?: number
  readonly description?: string
}

const DEFAULT_LENGTH = 1024 * 1024

/**
 * A file in the body of a request. A body with one is sent as `multipart/form-data`: each property
 * is a part, and the others are text, numbers or booleans. The host reads all of it before it calls
 * the handler, so that no transaction waits for a client.
 * @throws {RangeError} for a `maxLength` that no file may have
 */
export function FilePart({ mediaTypes, maxLength = DEFAULT_LENGTH, description }: FilePartOptions = {}) {
  if (!Number.isInteger(maxLength) || maxLength < 1 || maxLength > MOST_BYTES)
    throw new RangeError(`the maxLength of a FilePart is a number of bytes up to ${MOST_BYTES}`)
  return Type.Unsafe<ReceivedFile>({
    type: 'string',
    format: 'binary',
    maxLength,
    ...(mediaTypes && { mediaTypes: mediaTypes.map((type) => type.toLowerCase()) }),
    ...(description !== undefined && { description }),
  })
}
