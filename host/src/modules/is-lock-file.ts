import type { Lock } from './lock-file.ts'

/** Whether a record of the application holds a lock, by the properties that every version reads. */
export function isLockFile(value: unknown): value is Lock {
  const { generation, modules } = (value ?? {}) as Partial<Lock>
  if (!Number.isInteger(generation) || typeof modules !== 'object' || modules === null) return false
  return Object.values(modules).every((locked) =>
    [locked?.package, locked?.version, locked?.tree].every((text) => typeof text === 'string'),
  )
}
