import { type Static, Type } from '@sinclair/typebox'

export const statuses = ['pending', 'confirmed', 'completed', 'cancelled', 'expired'] as const

export const Status = Type.Unsafe<(typeof statuses)[number]>({ type: 'string', enum: [...statuses] })
export type Status = Static<typeof Status>

/** The actor of a transition: the owner or a manager, only a manager, or only the host. */
type Actor = 'owner' | 'manager' | 'host'

/** The status transitions of a purchase. All others are impossible. */
export const transitions: Readonly<Record<Status, Readonly<Partial<Record<Status, Actor>>>>> = {
  pending: { confirmed: 'manager', cancelled: 'owner', expired: 'host' },
  confirmed: { completed: 'manager', cancelled: 'owner' },
  completed: {},
  cancelled: {},
  expired: {},
}

/** By status, the statuses that callers may change it to: in the OpenAPI document as `x-transitions`. */
export const callersTransitions: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(transitions).map(([from, next]) => [
    from,
    Object.entries(next).flatMap(([to, actor]) => (actor === 'host' ? [] : [to])),
  ]),
)

/** Statuses in which a purchase has no claim to its stock. */
export const givesBack: ReadonlySet<Status> = new Set<Status>(['cancelled', 'expired'])

/** Statuses in which a purchase may be deleted: nothing is owed on it. */
export const deletable: ReadonlySet<Status> = new Set<Status>(['pending', 'cancelled', 'expired'])
