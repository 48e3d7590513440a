import { hostOperation } from '../operation.ts'

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
