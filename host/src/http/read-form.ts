import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { ReceivedFile } from '@mortise/module-sdk'
import { keepsValue, pointerTo } from '@mortise/module-sdk/json'
import type { TSchema } from '@sinclair/typebox'
import type { FileSchema, Form } from './form-schema.ts'
import { hostProblems, invalidRequest } from './problems.ts'
import { type Part, splitForm } from './split-form.ts'

/**
 * Parses a form and checks its files. A schema then validates the rest.
 * @returns the parsed body, and its parts as bytes that differ if a part does: each client separates
 * them by another boundary
 * @throws {Problem} `invalid-request`, `payload-too-large`, `unsupported-media-type`
 */
export async function readForm(
  headers: IncomingHttpHeaders,
  bytes: Buffer,
  form: Form,
): Promise<{ readonly body: Record<string, unknown>; readonly sent: readonly Buffer[] }> {
  const body: Record<string, unknown> = {}
  const sent: Buffer[] = []
  for (const part of await splitForm(headers, bytes)) {
    const { name = '', fileName, mediaType, encoding } = part
    if (name === '') throw invalid('', 'must have a name for each part')
    if (name === '__proto__') throw invalid(name, 'is not a known field')
    if (Object.hasOwn(body, name)) throw invalid(name, 'must be given once')
    if (!['7bit', '8bit', 'binary'].includes(encoding))
      throw unsupported(`Send the part "${name}" without Content-Transfer-Encoding.`)
    const file = form.files.get(name)
    body[name] = file ? fileOf(part, name, file) : fieldOf(textOf(part, name), form.fields.get(name))
    sent.push(Buffer.from(JSON.stringify([name, fileName, mediaType, part.bytes.length])), part.bytes)
  }
  return { body, sent }
}

function fileOf({ fileName = '', mediaType, bytes }: Part, name: string, schema: FileSchema): ReceivedFile {
  const { maxLength, mediaTypes } = schema
  if (mediaTypes?.every((type) => !matches(mediaType, type)))
    throw unsupported(`The file "${name}" is ${mediaType}: send ${mediaTypes.join(' or ')}.`)
  if (bytes.length > maxLength) {
    const detail = `The file "${name}" has ${bytes.length} bytes, and may have ${maxLength}: send a smaller one.`
    throw hostProblems.create('payload-too-large', detail)
  }
  // The parser replaces what is not UTF-8, and PostgreSQL stores no NUL.
  if (/[\0\ufffd]/.test(fileName)) throw invalid(name, 'must have a file name in UTF-8 without NUL')
  return new FormFile(fileName, mediaType, bytes)
}

const matches = (mediaType: string, type: string) =>
  type === mediaType || (type.endsWith('/*') && mediaType.startsWith(type.slice(0, -1)))

class FormFile implements ReceivedFile {
  readonly name: string
  readonly mediaType: string
  readonly bytes: Buffer

  constructor(name: string, mediaType: string, bytes: Buffer) {
    this.name = name
    this.mediaType = mediaType
    this.bytes = bytes
  }

  /** In logs and messages. */
  toJSON() {
    return { name: this.name, mediaType: this.mediaType, length: this.bytes.length }
  }
}

function textOf({ mediaType, bytes }: Part, name: string): string {
  if (mediaType !== 'text/plain') throw unsupported(`Send the part "${name}" as text/plain in UTF-8.`)
  if (!isUtf8(bytes)) throw invalid(name, 'must be UTF-8')
  const text = bytes.toString('utf8')
  if (text.includes('\0')) throw invalid(name, 'must not contain NUL')
  return text
}

/** As JSON writes it. Other text stays a string, and fails validation. */
function fieldOf(text: string, schema: TSchema | undefined): unknown {
  const types = [schema?.type].flat()
  const isNumber = types.includes('integer') || types.includes('number')
  if (isNumber && /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) && keepsValue(text))
    return Number(text)
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

const invalid = (name: string, detail: string) =>
  invalidRequest('The body cannot be read; see errors.', [
    { pointer: name === '' ? '' : pointerTo([name]), detail },
  ])

const unsupported = (detail: string) => hostProblems.create('unsupported-media-type', detail)
