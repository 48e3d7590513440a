import type { LockFile } from './lock-file.ts'

/** Whether a record of the application holds a lock, by the properties that every version reads. */
export function isLockFile(value: unknown): value is LockFile {
  const { generation, modules } = (value ?? {}) as Partial<LockFile>
  if (!Number.isInteger(generation) || typeof modules !== 'object' || modules === null) return false
  return Object.values(modules).every((locked) =>
    [locked?.package, locked?.version, locked?.tree].every((text) => typeof text === 'string'),
  )
}
