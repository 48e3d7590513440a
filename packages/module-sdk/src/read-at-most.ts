/**
 * All bytes of a body, such as that of a `fetch`, whose sender is not trusted.
 * @param most the most bytes, after decompression; it reads no further
 * @throws {Error} `has more than … bytes`
 */
export async function readAtMost(body: AsyncIterable<Uint8Array> | null, most: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.length
    if (size > most) throw new Error(`the response has more than ${most} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
