import type { Event } from '@mortise/module-sdk'

/** The events that a reader sees. Undefined members select everything. */
export interface Selection {
  readonly types: readonly string[] | undefined
  readonly subject: string | undefined
  readonly owner: string | undefined
}

/** Whether a query of the log with this selection would return the event. */
export function selects({ types, subject, owner }: Selection, event: Event): boolean {
  return (
    (owner === undefined || event.owner === owner) &&
    (subject === undefined || event.subject === subject) &&
    (types === undefined || types.includes(event.type))
  )
}
