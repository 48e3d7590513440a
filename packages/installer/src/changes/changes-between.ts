import { decisionOf, decisionText, type LockFile, lockedPackages } from '@mortise/application'

/** The packages that differ between two lock files; each `text` is for people: `+ api-cart 1.0.0`. */
export function changesBetween(before: LockFile, after: LockFile): { id: string; text: string }[] {
  const previous = lockedPackages(before)
  const latter = lockedPackages(after)
  return [...new Set([...previous.keys(), ...latter.keys()])].flatMap((id) => {
    const text = describe(id, previous.get(id), latter.get(id))
    return text === undefined ? [] : [{ id, text }]
  })
}

/** The host has none. */
const decisionIn = (locked: NonNullable<Locked>) =>
  'enabled' in locked ? decisionText(decisionOf(locked)) : ''

type Locked = ReturnType<ReturnType<typeof lockedPackages>['get']>

function describe(id: string, was: Locked, is: Locked): string | undefined {
  if (!was) return `+ ${id} ${is?.version}`
  if (!is) return `- ${id} ${was.version}`
  if (was.version !== is.version) return `~ ${id} ${was.version} → ${is.version}`
  const [before, now] = [decisionIn(was), decisionIn(is)]
  if (before !== now) return `~ ${id} ${now}`
  return was.tree === is.tree ? undefined : `~ ${id} ${is.version}, other files`
}
