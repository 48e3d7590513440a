import { callRunningHost, type PendingSetting } from '@mortise/host'
import { hostSettings } from './find-settings.ts'
import { shown } from './setting.ts'

/**
 * The settings that wait for the next start of the running host, as they may be shown; null stands for nothing. Empty
 * where none runs, or the file is wrong.
 */
export async function pendingSettings(directory: string): Promise<PendingSetting[]> {
  const answer = await callRunningHost(directory, { method: 'GET', path: '/settings' }).catch(() => undefined)
  // An older host does not tell.
  if (answer?.status !== 200) return []
  const { pending } = answer.body as { pending: PendingSetting[] }
  const schemas = new Map(hostSettings().map(({ key, schema }) => [key, schema]))
  return pending.flatMap(({ key, inForce, next }) => {
    const schema = schemas.get(key)
    if (schema === undefined) return []
    return [{ key, inForce: shown(inForce, schema) ?? null, next: shown(next, schema) ?? null }]
  })
}
