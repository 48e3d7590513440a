import { type LockedPackage, lockedPackages, readGenerations } from '@mortise/application'
import type { Source } from '../resolve/source.ts'
import type { Verified } from '../verify/verify.ts'

/** A fetched package, whether a module or a host. */
interface Fetched {
  readonly source: Source
  readonly json: { readonly name: string; readonly version: string }
  readonly tree: string
}

/** All packages that anybody has agreed to here: those of the lock file and of every generation. */
export async function agreedPackages({ input, previous }: Verified): Promise<readonly LockedPackage[]> {
  const { known } = await readGenerations(input.directory)
  return [previous, ...known.map(({ lock }) => lock)].flatMap((lock) => [...lockedPackages(lock).values()])
}

/** Whether neither Mortise nor an `agreed` package has the source of a package. */
export function isNewSource(
  { source, json: { name, version }, tree }: Fetched,
  agreed: readonly LockedPackage[],
): boolean {
  if (source.indexed) return false
  const spec = source.record(version)
  // A bundle records the sources that its own lock file names: only its content proves them.
  const isProven = source.kind === 'registry' || isFile(spec)
  return !agreed.some(
    (locked) =>
      locked.package === name && (locked.tree === tree || (isProven && isSameOrigin(locked.spec, spec))),
  )
}

/** A registry package has one source for all versions. A file or folder is a source of its own. */
const isSameOrigin = (a: string, b: string) => a === b || (!isFile(a) && !isFile(b))

const isFile = (spec: string) => spec.startsWith('file:')
