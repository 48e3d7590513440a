import { type Config, tokenIssuers } from '../../config/config.ts'
import type { InstalledModules } from '../../generations/installed-modules.ts'
import type { OpenapiDocument } from '../../routes/openapi-document.ts'
import { databaseOperation } from '../operation.ts'

export const openapi = databaseOperation({
  reads: true,
  async run({ config, storage, installed }): Promise<OpenapiDocument> {
    if (installed !== undefined) return await documentOf(installed, config)
    // Only a command without a host comes here. The other commands need no Fastify.
    const { InstalledModules } = await import('../../generations/installed-modules.ts')
    const { createLogger } = await import('../../telemetry/logger.ts')
    const { createTokenVerifier } = await import('../../callers/token-verifier.ts')
    const modules = await InstalledModules.start({
      config,
      storage,
      logger: createLogger({ ...config.log, level: 'silent' }),
      tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
      notReady: () => undefined,
    })
    try {
      return await documentOf(modules, config)
    } finally {
      await modules.close()
    }
  },
})

const documentOf = async ({ app }: InstalledModules, { basePath }: Config): Promise<OpenapiDocument> =>
  (await app.inject(`${basePath}/openapi.json`)).json()
