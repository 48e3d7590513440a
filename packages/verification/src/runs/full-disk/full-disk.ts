import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSystem } from '../../harness/file-system.ts'
import { Random } from '../../harness/random.ts'
import { repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runFullDisk } from './run-full-disk.ts'

const IMAGE_BYTES = 64 * 1024 * 1024

export const fullDisk: Verification = {
  promise:
    'On a full disk the host refuses only writes, and accepts them again by itself when the disk has room.',
  run: (options) =>
    repeat(options, async (seed) => {
      const folder = await mkdtemp(join(tmpdir(), 'mortise-full-disk-'))
      const disk = await FileSystem.make(folder, IMAGE_BYTES)
      try {
        if (disk !== undefined) return await runFullDisk(disk.directory, new Random(seed))
        return {
          figures: {},
          failures: [],
          skipped: 'this user cannot mount a file system (root, mkfs.ext4)',
        }
      } finally {
        await disk?.unmount()
        await rm(folder, { recursive: true, force: true })
      }
    }),
}
