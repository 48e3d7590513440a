import type { IncomingHttpHeaders } from 'node:http'
import { invalidRequest } from './problems.ts'

/** One part of multipart/form-data (RFC 7578), as sent. */
export interface Part {
  readonly name: string | undefined
  /** Without folders. */
  readonly fileName: string | undefined
  /** In lower case, without parameters; `text/plain` if the part does not say. */
  readonly mediaType: string
  /** Of Content-Transfer-Encoding. */
  readonly encoding: string
  readonly bytes: Buffer
}

/** Far more than any schema names. */
const MOST_PARTS = 200
const limits = { parts: MOST_PARTS, headerPairs: 20, headerSize: 8 * 1024 }

/** @throws {Problem} `invalid-request` for a body that is none */
export async function splitForm(headers: IncomingHttpHeaders, body: Buffer): Promise<Part[]> {
  // Few processes get a form.
  const { Busboy } = await import('@fastify/busboy')
  const found: (Omit<Part, 'bytes'> & { readonly chunks: Buffer[] })[] = []
  try {
    await new Promise<void>((resolve, reject) => {
      const busboy = new Busboy({ headers: headers as { 'content-type': string }, limits, isPartAFile })
      busboy.on('file', (name, stream, fileName, encoding, mediaType) => {
        const chunks: Buffer[] = []
        found.push({ name, fileName, encoding, mediaType, chunks })
        stream.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
      })
      busboy.on('partsLimit', () => reject(new Error(`it has more than ${MOST_PARTS} parts`)))
      busboy.on('error', reject).on('finish', resolve)
      busboy.end(body)
    })
  } catch (error) {
    const detail = `must be multipart/form-data: ${(error as Error).message}`
    throw invalidRequest('The body cannot be read; see errors.', [{ pointer: '', detail }], { cause: error })
  }
  return found.map(({ chunks: [first = Buffer.alloc(0), ...rest], ...part }) => ({
    ...part,
    bytes: rest.length === 0 ? first : Buffer.concat([first, ...rest]),
  }))
}

/** All are: fields would be decoded, and invalid UTF-8 replaced. */
const isPartAFile = () => true
