import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tarball } from '../../packages/installer/test/tarball.ts'

export type Parts = Record<string, Buffer>

/** Writes an archive whose manifest is right about its parts. */
export async function packArchive(file: string, about: object, parts: Parts): Promise<string> {
  const measured = Object.entries(parts).map(([name, body]) => {
    return [name, { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }]
  })
  const manifest = JSON.stringify({ ...about, parts: Object.fromEntries(measured) })
  const entries = Object.entries(parts).map(([path, body]) => ({ path, body }))
  await writeFile(file, tarball([{ path: 'manifest.json', body: manifest }, ...entries]))
  return file
}
