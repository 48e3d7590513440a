import { hostname, userInfo } from 'node:os'
import type { BegunRecord, LockFile, OperatorRecord } from '@mortise/application'
import { newId } from '@mortise/module-sdk'
import { changesBetween } from './changes-between.ts'

export function beginRecord(action: string, object: string, details: OperatorRecord['details']): BegunRecord {
  return {
    id: newId('audit'),
    at: new Date().toISOString(),
    actor: `os:${userName()}`,
    action,
    object,
    details: { ...details, machine: hostname() },
  }
}

export const doneRecord = (...begun: Parameters<typeof beginRecord>): OperatorRecord => ({
  ...beginRecord(...begun),
  outcome: 'done',
})

/**
 * The record of a change of the application.
 * @param command the command line
 * @param object the object of the change, if it is more than the installed modules
 * @param generation the number of the new generation
 */
export function changeRecord(
  command: string,
  previous: LockFile,
  next: LockFile,
  object?: string,
  generation = next.generation,
): BegunRecord {
  const changes = changesBetween(previous, next)
  const [action = ''] = command.split(' ')
  const ids = changes.map(({ id }) => id).join(', ')
  return beginRecord(action, object ?? (ids || 'the application'), {
    command,
    generation,
    changes: changes.map(({ text }) => text),
  })
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, the user may have no name.
    return String(process.getuid?.())
  }
}
