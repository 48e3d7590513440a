import type { LockedModule } from '@mortise/host'
import { confirm } from '../../terminal/confirm.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import type { Candidate } from '../fetch/candidate.ts'

/**
 * On a terminal, asks before an installation from a new source: one that neither the index nor the
 * lock file names. Without a terminal it does not ask.
 * @param known the installed packages
 * @throws {Failure} if the answer is not yes
 */
export async function confirmSources(
  fresh: readonly Candidate[],
  known: readonly LockedModule[],
  terminal: Terminal,
  yes: boolean,
): Promise<void> {
  if (yes || !terminal.interactive) return
  const strangers = fresh.filter(
    ({ source, package: { name, version } }) =>
      !source.indexed &&
      !known.some((locked) => locked.package === name && isSameOrigin(locked.spec, source.record(version))),
  )
  if (strangers.length === 0) return
  const names = strangers.map(({ from }) => from).join(' and ')
  terminal.note('A module runs with all the rights of the application.')
  await confirm(terminal, yes, `${names} is a new source. Trust it?`)
}

/** A registry package has one source for all versions. A file or folder is a source of its own. */
function isSameOrigin(a: string, b: string): boolean {
  return a === b || (!a.startsWith('file:') && !b.startsWith('file:'))
}
