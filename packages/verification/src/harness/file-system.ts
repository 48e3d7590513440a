import { execFile } from 'node:child_process'
import { appendFile, mkdir, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Round } from './round.ts'

const run = promisify(execFile)

/**
 * EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH (linux/fs/ext4/ext4.h): no more writes reach
 * the device.
 */
const SHUT_DOWN =
  'my $flags = pack("L", 2); open(my $f, "<", $ARGV[0]) or die $!; ioctl($f, 0x8004587D, $flags) or die $!'

/**
 * An ext4 file system in a file. It can be shut down like in a power loss, and mounted again. Needs
 * root.
 */
export class FileSystem {
  readonly #image: string
  readonly directory: string
  readonly #filler: string

  constructor(image: string, directory: string) {
    this.#image = image
    this.directory = directory
    this.#filler = join(directory, 'filler')
  }

  async mount(): Promise<void> {
    await run('mount', ['-o', 'loop', this.#image, this.directory])
  }

  /** Loses what was not synced. Every later call fails. */
  async shutDown(): Promise<void> {
    await run('perl', ['-e', SHUT_DOWN, this.directory])
  }

  /** Leaves about this many bytes free. */
  async fill(left: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.directory)
    const bytes = Buffer.alloc(Math.max(0, bavail * bsize - left))
    await appendFile(this.#filler, bytes).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error
    })
  }

  async empty(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  /** Call this when no process uses the file system. */
  async unmount(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return void (await run('umount', [this.directory]))
      } catch (error) {
        if (attempt === 50) throw error
        await pause(100)
      }
    }
  }
}

/** One of so many MiB in the folder of the round, until its end; otherwise the round is skipped. */
export async function mountFileSystem(round: Round, mebibytes: number): Promise<FileSystem | undefined> {
  const [image, directory] = [join(round.folder, 'image'), join(round.folder, 'mounted')]
  const disk = new FileSystem(image, directory)
  await writeFile(image, '')
  await truncate(image, mebibytes * 1024 * 1024)
  await mkdir(directory)
  try {
    await run('mkfs.ext4', ['-q', '-F', image])
    await disk.mount()
  } catch {
    round.skipped = 'this user cannot mount a file system (root, mkfs.ext4, perl)'
    return undefined
  }
  round.teardown(() => disk.unmount())
  return disk
}
