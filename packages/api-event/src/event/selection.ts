import { type Caller, type Event, insufficientScope } from '@mortise/module-sdk'
import type { EventFilter } from './schemas.ts'

/** Which events somebody sees: undefined stands for all. */
export interface Selection {
  readonly types: readonly string[] | undefined
  readonly subject: string | undefined
  readonly owner: string | undefined
}

/** A caller's own events; with the scope `event:read` everybody's, or those of `owner`. */
export function selectionOf(caller: Caller, { types, subject, owner }: EventFilter): Selection {
  const seesAll = caller.has('event:read')
  if (owner !== undefined && !seesAll) throw insufficientScope('event:read', "see others' events")
  return { types: types?.split(','), subject, owner: seesAll ? only(owner) : caller.id }
}

/** `*` stands for everyone, as it does in other lists. */
const only = (owner: string | undefined) => (owner === '*' ? undefined : owner)

/** Whether the log would find the event for this selection. */
export function selects({ types, subject, owner }: Selection, event: Event): boolean {
  return (
    (owner === undefined || event.owner === owner) &&
    (subject === undefined || event.subject === subject) &&
    (types === undefined || types.includes(event.type))
  )
}
