import { lastTokenExpiry } from '../../events/minted-tokens.ts'
import { databaseOperation, hostOperation } from '../operation.ts'

/** Verifies tokens with the secrets that `.app/secret` has now, in every process. */
export const renewSecrets = hostOperation({
  run: async (host) => ({ changed: await host.renewSecrets() }),
  merge: (outputs) => ({ changed: outputs.some(({ changed }) => changed) }),
})

/** The end of the last token that `app token` has minted, in epoch milliseconds; null without one. */
export const tokens = databaseOperation({
  reads: true,
  run: async ({ config, storage }) => ({ lastExpiry: await lastTokenExpiry(config.directory, storage) }),
  withoutDatabase: async ({ directory }) => ({ lastExpiry: await lastTokenExpiry(directory) }),
})
