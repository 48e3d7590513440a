import { hostname } from 'node:os'
import type { OperatorRecord } from '@mortise/host'
import { newId } from '@mortise/module-sdk'
import { operator } from './operator.ts'

/** A record of what has begun: its outcome is still to be told. */
export type BegunRecord = Omit<OperatorRecord, 'outcome'>

/** The record of something that this user does now, on this machine. */
export function beginRecord(action: string, object: string, details: OperatorRecord['details']): BegunRecord {
  return {
    id: newId('audit'),
    at: new Date().toISOString(),
    actor: operator(),
    action,
    object,
    details: { ...details, machine: hostname() },
  }
}
