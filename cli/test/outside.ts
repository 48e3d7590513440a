import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'

/** A folder that is not below the checkout, nor beside its node_modules: what is not installed is not found. */
export async function outside(t: Test): Promise<string> {
  // The folder of a run has the checkout's packages.
  const parent = existsSync(join(tmpdir(), 'node_modules')) ? dirname(tmpdir()) : tmpdir()
  const folder = await realpath(await mkdtemp(join(parent, 'mortise-outside-')))
  t.teardown(() => rm(folder, { recursive: true, maxRetries: 5 }))
  return folder
}
