import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'

/** More than a group of transactions writes: little free space may be enough for less. */
const BYTES = 4 * 1024 * 1024

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
}

/**
 * Why the file system accepts no more data beside `file` although the disk is intact; undefined if
 * it does, or fails otherwise. Blocks while it writes.
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
