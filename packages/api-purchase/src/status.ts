import { type Static, Type } from '@sinclair/typebox'

export const statuses = ['pending', 'confirmed', 'completed', 'cancelled', 'expired'] as const

export const Status = Type.Unsafe<(typeof statuses)[number]>({ type: 'string', enum: [...statuses] })
export type Status = Static<typeof Status>

/** Whose doing a transition is: the owner's or a manager's, a manager's alone, the host's alone. */
type Actor = 'owner' | 'manager' | 'host'

/** The life of a purchase. What is not here cannot happen. */
export const transitions: Readonly<Record<Status, Readonly<Partial<Record<Status, Actor>>>>> = {
  pending: { confirmed: 'manager', cancelled: 'owner', expired: 'host' },
  confirmed: { completed: 'manager', cancelled: 'owner' },
  completed: {},
  cancelled: {},
  expired: {},
}

/** Purchases that may be deleted: those that nothing more is owed on. */
export const deletable: ReadonlySet<Status> = new Set<Status>(['pending', 'cancelled', 'expired'])
