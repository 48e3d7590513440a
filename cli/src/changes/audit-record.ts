import { hostname, userInfo } from 'node:os'
import type { Lock, OperatorRecord } from '@mortise/host'
import { newId } from '@mortise/module-sdk'
import { changesBetween } from './changes-between.ts'

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

/**
 * The record of a change of the application.
 * @param command as it was called
 * @param object what is changed, where that is more than what is installed
 * @param generation the number of the generation that it makes
 */
export function changeRecord(
  command: string,
  former: Lock,
  next: Lock,
  object?: string,
  generation = next.generation,
): BegunRecord {
  const changes = changesBetween(former, next)
  const [action = ''] = command.split(' ')
  const ids = changes.map(({ id }) => id).join(', ')
  return beginRecord(action, object ?? (ids || 'the application'), {
    command,
    generation,
    changes: changes.map(({ text }) => text),
  })
}

/** Who runs the command, as the audit trail names them. */
function operator(): string {
  return `os:${nameOf()}`
}

function nameOf(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user that it has no name for.
    return String(process.getuid?.())
  }
}
