import { hostOperation } from '../operation.ts'
import { pendingSettings } from '../pending-settings.ts'

/** Changed host settings that wait for its next start. */
export const settings = hostOperation({
  reads: true,
  run: async ({ config }) => ({ pending: await pendingSettings(config) }),
})
