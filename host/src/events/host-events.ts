import { newId, type Transaction } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

/** The events of the host itself, with the schemas of their data. */
export const hostEvents = {
  'host.module-quarantined': Type.Object({
    module: Type.String(),
    reason: Type.String({ description: 'a sentence' }),
  }),
}

type HostEvents = typeof hostEvents

/** Who may read all events sees them: they have no owner. */
export function* emitHostEvent<Name extends keyof HostEvents>(
  type: Name,
  { subject, data }: { readonly subject: string; readonly data: Static<HostEvents[Name]> },
): Transaction<void> {
  const schema = hostEvents[type]
  yield { event: { id: newId('event'), type, source: 'host', subject, owner: null, data, schema } }
}
