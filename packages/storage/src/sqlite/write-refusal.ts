import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'

/** More than a group of transactions writes: a little room that is left may do for less. */
const BYTES = 4 * 1024 * 1024

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
}

/**
 * Why the file system takes nothing more beside `file`, though nothing is wrong with the disk; undefined where it takes
 * it, or fails otherwise. Blocks for as long as it writes.
 */
export function writeRefusal(file: string): string | undefined {
  const trial = `${file}.trial`
  try {
    const handle = openSync(trial, 'w', 0o600)
    try {
      for (let left = BYTES; left > 0; ) left -= writeSync(handle, Buffer.alloc(left))
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    return undefined
  } catch (error) {
    return REASONS[(error as NodeJS.ErrnoException).code ?? '']
  } finally {
    rmSync(trial, { force: true })
  }
}
