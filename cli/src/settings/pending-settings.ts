import { callRunningHost, type PendingSetting } from '@mortise/host'
import { hostSettings } from './find-settings.ts'
import { shown } from './setting.ts'

/** What the running host uses otherwise, without secrets. Empty if no host runs. */
export async function pendingSettings(directory: string): Promise<PendingSetting[]> {
  // An older host does not know this call.
  const answer = await callRunningHost(directory, 'settings').catch(() => undefined)
  if (answer === undefined) return []
  const schemas = new Map(hostSettings().map(({ key, schema }) => [key, schema]))
  return answer.pending.flatMap(({ key, option, inForce, next }) => {
    const schema = schemas.get(key)
    if (schema === undefined) return []
    return [{ key, option, inForce: shown(inForce, schema) ?? null, next: shown(next, schema) ?? null }]
  })
}
