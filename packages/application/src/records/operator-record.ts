import { type Static, Type } from '@sinclair/typebox'

/** `reverted`: the host could not serve the change and reverted it. */
const Outcome = Type.Unsafe<'done' | 'reverted'>({ type: 'string', enum: ['done', 'reverted'] })
export type Outcome = Static<typeof Outcome>

/** An operator's action, recorded outside of the database, which may be unavailable then. */
export const OperatorRecord = Type.Object({
  /** A TypeID. It names a file. */
  id: Type.String({ pattern: '^[0-9A-Za-z_-]{1,100}$' }),
  at: Type.String({ format: 'date-time' }),
  actor: Type.String(),
  action: Type.String(),
  object: Type.String(),
  outcome: Outcome,
  details: Type.Record(Type.String(), Type.Unknown()),
})
export type OperatorRecord = Static<typeof OperatorRecord>

/** Its outcome is still to come. */
export const BegunRecord = Type.Omit(OperatorRecord, ['outcome'])
export type BegunRecord = Static<typeof BegunRecord>
