import { lastTokenExpiry } from '../../events/minted-tokens.ts'
import { databaseOperation, hostOperation } from '../operation.ts'
import { byAll } from '../pool.ts'

/** Verifies tokens with the secrets that `.app/secret` has now, in every process. */
export const renewSecrets = hostOperation({
  inPool: byAll,
  run: async (host) => ({ changed: await host.renewSecrets() }),
})

/** The end of the last token that `app token` has minted, in epoch milliseconds; null without one. */
export const tokens = databaseOperation({
  reads: true,
  run: async ({ config, storage }) => ({ lastExpiry: await lastTokenExpiry(config.directory, storage) }),
  withoutDatabase: async ({ directory }) => ({ lastExpiry: await lastTokenExpiry(directory) }),
})
