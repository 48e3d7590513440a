import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '../../harness/random.ts'
import { repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { readOnlyBut } from './read-only.ts'
import { runTemporaryFolder } from './run-temporary-folder.ts'

export const temporaryFolder: Verification = {
  promise:
    'Host and commands work when only the application folder is writable: no temporary folder, no cache, no working directory.',
  run: (options) =>
    repeat(options, async (seed) => {
      const folder = await realpath(await mkdtemp(join(tmpdir(), 'mortise-temporary-folder-')))
      try {
        const confinement = await readOnlyBut(folder, '/')
        if (confinement !== undefined) return await runTemporaryFolder(folder, confinement, new Random(seed))
        return {
          figures: {},
          failures: [],
          skipped: 'this user cannot make file systems read-only (unshare -m)',
        }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    }),
}
