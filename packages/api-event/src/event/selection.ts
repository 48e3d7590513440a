import { type Caller, type EventQuery, insufficientScope } from '@mortise/module-sdk'
import type { EventFilter } from './schemas.ts'

/** The caller's own events. With the scope `event:read`: everyone's, or those of `owner`. */
export function selectionOf(
  caller: Caller,
  { types, subject, owner }: EventFilter,
): Pick<EventQuery, 'types' | 'subject' | 'owner'> {
  const seesAll = caller.has('event:read')
  if (owner !== undefined && !seesAll) throw insufficientScope('event:read', "see other callers' events")
  return { types: types?.split(','), subject, owner: seesAll ? only(owner) : caller.id }
}

/** `*` stands for all owners, as in other lists. */
const only = (owner: string | undefined) => (owner === '*' ? undefined : owner)
