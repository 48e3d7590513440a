import { FileSystem } from '../../harness/file-system.ts'
import { Random } from '../../harness/random.ts'
import { repeat, skipped } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runFullDisk } from './run-full-disk.ts'

const IMAGE_BYTES = 64 * 1024 * 1024

export const fullDisk: Verification = {
  promise:
    'On a full disk the host refuses only writes, and accepts them again by itself when the disk has room.',
  run: (options) =>
    repeat(options, async (seed, folder) => {
      const disk = await FileSystem.make(folder, IMAGE_BYTES)
      if (disk === undefined) return skipped('this user cannot mount a file system (root, mkfs.ext4)')
      try {
        return await runFullDisk(disk.directory, new Random(seed))
      } finally {
        await disk.unmount()
      }
    }),
}
