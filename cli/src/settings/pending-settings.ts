import { callRunningHost, type PendingSetting } from '@mortise/host'
import { hostSettings } from './find-settings.ts'
import { shown } from './setting.ts'

/**
 * The settings that wait for the next start of the running host, as they may be shown; null stands for nothing. Empty
 * where none runs, or the file is wrong.
 */
export async function pendingSettings(directory: string): Promise<PendingSetting[]> {
  // An older host does not tell.
  const answer = await callRunningHost(directory, 'settings').catch(() => undefined)
  if (answer === undefined) return []
  const schemas = new Map(hostSettings().map(({ key, schema }) => [key, schema]))
  return answer.pending.flatMap(({ key, inForce, next }) => {
    const schema = schemas.get(key)
    if (schema === undefined) return []
    return [{ key, inForce: shown(inForce, schema) ?? null, next: shown(next, schema) ?? null }]
  })
}
