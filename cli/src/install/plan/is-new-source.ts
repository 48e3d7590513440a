import type { LockedModule } from '@mortise/host'
import type { Candidate } from '../fetch/candidate.ts'

/** Whether neither the index nor a `known` package names the source of a module. */
export function isNewSource(
  { source, package: { name, version } }: Pick<Candidate, 'source' | 'package'>,
  known: readonly LockedModule[],
): boolean {
  return (
    !source.indexed &&
    !known.some((locked) => locked.package === name && isSameOrigin(locked.spec, source.record(version)))
  )
}

/** A registry package has one source for all versions. A file or folder is a source of its own. */
const isSameOrigin = (a: string, b: string) => a === b || (!a.startsWith('file:') && !b.startsWith('file:'))
