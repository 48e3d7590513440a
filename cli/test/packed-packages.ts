import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A folder with the tarballs of all public packages, as they would be published. */
export async function packedPackages(t: Test): Promise<string> {
  const { MORTISE_PACKAGES: given } = process.env
  if (given) return given
  const folder = mkdtempSync(join(tmpdir(), 'mortise-packages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { packAll } = await import(new URL('../../.dev/pack.js', import.meta.url).href)
  packAll(folder)
  return folder
}
