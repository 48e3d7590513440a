import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from '@sinclair/typebox'
import { isLoaded, unknownState } from './module-state.ts'

// What the operator decides about a module, as modules.lock.json has it. Only this file reads it.

/** The properties of a module in modules.lock.json that hold the operator's decision. */
export const decisionProperties = {
  enabled: Type.Boolean(),
  paused: Type.Optional(
    Type.Object(
      {
        until: Type.Optional(
          Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
        ),
      },
      {
        additionalProperties: false,
        description:
          'its routes respond with 503, and its background work waits, until this time (RFC 3339, UTC); without a time, until it is enabled',
      },
    ),
  ),
}
type Decided = Static<ReturnType<typeof Type.Object<typeof decisionProperties>>>

/** What an operator decides about a module. It can fail nevertheless. */
export type Decision =
  | { readonly state: 'active' }
  | { readonly state: 'disabled' }
  /** @param until RFC 3339, UTC; absent: until it is enabled */
  | { readonly state: 'paused'; readonly until?: string }

export function decisionOf({ enabled, paused }: Decided): Decision {
  if (!enabled) return { state: 'disabled' }
  return paused === undefined ? { state: 'active' } : { state: 'paused', ...paused }
}

/**
 * The decision that holds at a time: a pause ends by itself.
 * @param now in epoch milliseconds, on the clock that the hosts of a database share
 */
export function decisionAt(locked: Decided, now: number): Decision {
  const decision = decisionOf(locked)
  return decision.state === 'paused' && now >= endOf(decision) ? { state: 'active' } : decision
}

/** When it ends by itself, in epoch milliseconds; Infinity without a time, or one that no calendar has. */
export const endOf = ({ until = '' }: { readonly until?: string }): number =>
  Date.parse(until) || Number.POSITIVE_INFINITY

/** An entry of the lock file with this decision, whatever it had. */
export function decide<Locked extends object>(locked: Locked, decision: Decision) {
  const { enabled, paused, ...rest } = locked as Locked & Partial<Decided>
  return { ...(rest as Omit<Locked, keyof Decided>), ...propertiesOf(decision) }
}

function propertiesOf(decision: Decision): Decided {
  switch (decision.state) {
    case 'active':
      return { enabled: true }
    case 'disabled':
      return { enabled: false }
    case 'paused':
      return { enabled: true, paused: decision.until === undefined ? {} : { until: decision.until } }
    default:
      return unknownState(decision)
  }
}

/** For people: `paused until 2026-11-21T09:30:00.000Z`. */
export function decisionText(decision: Decision): string {
  switch (decision.state) {
    case 'active':
      return 'enabled'
    case 'disabled':
      return 'disabled'
    case 'paused':
      return decision.until === undefined ? 'paused' : `paused until ${decision.until}`
    default:
      return unknownState(decision)
  }
}

/** Whether a change loads this module's code: it is new, another, or was not loaded before. */
export function isBrought<Locked extends Decided>(locked: Locked, previous: Locked | undefined): boolean {
  if (!isLoaded(decisionOf(locked))) return false
  if (previous === undefined || !isLoaded(decisionOf(previous))) return true
  return !isDeepStrictEqual(decide(locked, { state: 'active' }), decide(previous, { state: 'active' }))
}
