import { callRunningHost, HostRefusedError } from '@mortise/host'
import type { Journal } from '../../changes/journal.ts'

type Activation = 'served' | 'no host' | { readonly reason: string }

/**
 * @param options.again whether to try failed modules once more
 * @param options.config the change of a setting, for the host that watches the change
 */
export async function activate(
  directory: string,
  { again = false, config }: { readonly again?: boolean; readonly config?: Journal['config'] } = {},
): Promise<Activation> {
  try {
    const activated = await callRunningHost(directory, 'activate', { again, ...(config && { config }) })
    return activated === undefined ? 'no host' : 'served'
  } catch (error) {
    return { reason: error instanceof HostRefusedError ? error.reason : (error as Error).message }
  }
}
