import type { Lock } from '@mortise/host'
import { changesBetween } from '../install/changes-between.ts'
import { type BegunRecord, beginRecord } from './begin-record.ts'

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
