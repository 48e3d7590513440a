import { type Config, readPlace, tokenIssuers } from '@mortise/application'
import { currentTime } from '@mortise/module-sdk/current-time'
import type { InstalledModules } from '../../generations/installed-modules.ts'
import type { OpenapiDocument } from '../../routes/openapi-document.ts'
import { gauge, mergeFamilies } from '../../telemetry/prometheus-format.ts'
import { mergeStates } from '../application-state.ts'
import { databaseOperation, hostOperation } from '../operation.ts'
import { pendingSettings } from '../pending-settings.ts'

export const state = hostOperation({
  reads: true,
  run: async (host) => host.state(),
  merge: mergeStates,
})

/** Host settings that differ from what the host uses. */
export const settings = hostOperation({
  reads: true,
  run: async (host) => ({ pending: await pendingSettings(host) }),
})

/** With these a command uses the same database and secret. */
export interface HostEnvironment {
  readonly APP_DATABASE: string
  readonly APP_SECRET?: string
}

/** The database and the secret of the host. */
export const environment = hostOperation({
  reads: true,
  async run({ config: { database, databaseFile, secret } }): Promise<HostEnvironment> {
    return {
      APP_DATABASE: databaseFile ?? database,
      ...(secret && { APP_SECRET: Buffer.from(secret).toString() }),
    }
  },
})

/** Where the database is; null on SQLite. */
export const place = databaseOperation({
  reads: true,
  run: async ({ config, storage }) => (config.databaseFile === undefined ? await readPlace(storage) : null),
})

/** The names of the variables in the host's environment that set something. */
export const variables = hostOperation({
  reads: true,
  run: async ({ config: { environment } }) => ({
    names: Object.keys(environment).filter((name) => name.startsWith('APP_')),
  }),
})

/** The hosts that serve from the database: this one and the others. */
export const hosts = databaseOperation({
  reads: true,
  run: async ({ hosts: { self, others } }) => ({ ...(self && { self }), others: await others() }),
})

/** The time on the clock that all hosts of the database share, in epoch milliseconds. */
export const clock = databaseOperation({
  reads: true,
  run: async () => ({ now: currentTime() }),
  withoutDatabase: async () => ({ now: Date.now() }),
})

export const schema = databaseOperation({
  reads: true,
  run: ({ storage }) => storage.schema(),
  withoutDatabase: async () => ({ statements: [], ledger: [] }),
})

export const metrics = hostOperation({
  reads: true,
  run: (host) => host.metrics(),
  merge: (outputs, silent) => [
    ...mergeFamilies(outputs),
    gauge('mortise_workers', 'Processes of app start --workers by state', 'max', [
      { labels: { state: 'serving' }, value: outputs.length },
      { labels: { state: 'silent' }, value: silent.length },
    ]),
  ],
})

/** What takes the main thread of each process, for two seconds; of none with a debugger attached. */
export const measure = hostOperation({
  reads: true,
  run: async (host) => [await host.measure()].filter((measured) => measured !== undefined),
  merge: (outputs) => outputs.flat(),
})

/** By the id of a module that serves, the access to each of its routes (`GET /cart`). */
export const access = hostOperation({
  reads: true,
  run: async ({ installed }) => Object.fromEntries(installed.app.accesses),
})

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
