import { type Caller, type Event, insufficientScope } from '@mortise/module-sdk'
import type { EventFilter } from './schemas.ts'

/** The events that a reader sees. Undefined members select everything. */
export interface Selection {
  readonly types: readonly string[] | undefined
  readonly subject: string | undefined
  readonly owner: string | undefined
}

/** The caller's own events. With the scope `event:read`: everyone's, or those of `owner`. */
export function selectionOf(caller: Caller, { types, subject, owner }: EventFilter): Selection {
  const seesAll = caller.has('event:read')
  if (owner !== undefined && !seesAll) throw insufficientScope('event:read', "see other callers' events")
  return { types: types?.split(','), subject, owner: seesAll ? only(owner) : caller.id }
}

/** `*` stands for all owners, as in other lists. */
const only = (owner: string | undefined) => (owner === '*' ? undefined : owner)

/** Whether a query of the log with this selection would return the event. */
export function selects({ types, subject, owner }: Selection, event: Event): boolean {
  return (
    (owner === undefined || event.owner === owner) &&
    (subject === undefined || event.subject === subject) &&
    (types === undefined || types.includes(event.type))
  )
}
