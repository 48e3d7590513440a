import { callRunningHost } from '@mortise/host'
import type { Journal } from '../../changes/journal.ts'

type Activation = 'served' | 'no host' | { readonly reason: string }

/**
 * @param how.again whether modules that have failed are tried once more
 * @param how.config what a setting has changed, for the host that watches the change
 */
export async function activate(
  directory: string,
  how: { readonly again?: boolean; readonly config?: Journal['config'] } = {},
): Promise<Activation> {
  try {
    const answer = await callRunningHost(directory, { method: 'POST', path: '/activate', body: how })
    if (answer === undefined) return 'no host'
    if (answer.status === 200) return 'served'
    const { module, reason } = answer.body as { module?: string; reason?: string }
    const why = reason ?? `it answered ${answer.status}`
    return { reason: module === undefined ? why : `${module}: ${why}` }
  } catch (error) {
    return { reason: (error as Error).message }
  }
}
