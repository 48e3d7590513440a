import { hostOperation } from '../operation.ts'
import { pendingSettings } from '../pending-settings.ts'

/** The settings of the host that wait for its next start. */
export const settings = hostOperation({
  reads: true,
  run: async ({ config }) => ({ pending: await pendingSettings(config) }),
})
