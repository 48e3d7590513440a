import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const mount = (...argv: string[]) => spawnSync('mount', argv, { stdio: 'ignore' }).status === 0

const trial = mkdtempSync(join(tmpdir(), 'mortise-mount-'))
const mayMount = mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', trial)
if (mayMount) spawnSync('umount', [trial])
rmSync(trial, { recursive: true })

/** Why there is no small volume to fill. */
export const skip = mayMount ? false : 'this user may not mount a tmpfs'

export interface SmallVolume {
  readonly folder: string
  /** Leaves so many bytes free. */
  fill(free?: number): void
  /** Makes room again. */
  empty(): void
  makeReadOnly(): void
}

/** A volume of its own, of so many MiB, gone when the test ends. */
export function smallVolume(t: Test, size: number): SmallVolume {
  const folder = mkdtempSync(join(tmpdir(), 'mortise-volume-'))
  if (!mount('-t', 'tmpfs', '-o', `size=${size}m`, 'tmpfs', folder)) throw new Error('it cannot be mounted')
  t.teardown(() => {
    spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true })
  })
  const filler = join(folder, 'filler')
  return {
    folder,
    fill(free = 0) {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(filler, Buffer.alloc(bavail * bsize - free), { flag: 'a' })
    },
    empty: () => rmSync(filler),
    makeReadOnly() {
      if (!mount('-o', 'remount,ro', folder)) throw new Error('it cannot be mounted read-only')
    },
  }
}
