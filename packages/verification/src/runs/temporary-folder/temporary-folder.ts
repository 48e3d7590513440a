import { Random } from '../../harness/random.ts'
import { repeat, skipped } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { readOnlyBut } from './read-only.ts'
import { runTemporaryFolder } from './run-temporary-folder.ts'

export const temporaryFolder: Verification = {
  promise:
    'Host and commands work when only the application folder is writable: no temporary folder, no cache, no working directory.',
  run: (options) =>
    repeat(options, async (seed, folder) => {
      const confinement = await readOnlyBut(folder, '/')
      return confinement === undefined
        ? skipped('this user cannot make file systems read-only (unshare -m)')
        : await runTemporaryFolder(folder, confinement, new Random(seed))
    }),
}
