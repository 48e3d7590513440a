import { readFileSync, statSync } from 'node:fs'
import { DatabaseLockedError } from '../port/errors.ts'

/** The error for a file that another process has locked for long; it names the process on Linux. */
export function lockedFile(file: string, cause: unknown): DatabaseLockedError {
  const holders = holdersOf(file)
  const who = holders.length === 0 ? 'another process' : holders.join(' and ')
  return new DatabaseLockedError(`${who} has locked ${file}: ${(cause as Error).message}`, { cause })
}

/** `process 71 (sqlite3)`: those that write, or keep the file to themselves. */
function holdersOf(file: string): string[] {
  try {
    const inodes = [file, `${file}-shm`].map((path) => statSync(path, { throwIfNoEntry: false })?.ino)
    const locks = readFileSync('/proc/locks', 'utf8').matchAll(
      /POSIX\s+\S+\s+WRITE (\d+) [^:]+:[^:]+:(\d+) /g,
    )
    const found = new Set<string>()
    for (const [, pid, inode] of locks)
      if (inodes.includes(Number(inode)) && pid !== `${process.pid}`) found.add(pid as string)
    return [...found].map((pid) => `process ${pid} (${nameOf(pid)})`)
  } catch {
    return []
  }
}

const nameOf = (pid: string) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
