import { hostOperation } from '../operation.ts'
import { pendingSettings } from '../pending-settings.ts'

/** Host settings that differ from what the host uses. */
export const settings = hostOperation({
  reads: true,
  run: async (host) => ({ pending: await pendingSettings(host) }),
})
