import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile } from '@mortise/application'
import { bearer, type Headers } from '../../harness/caller.ts'
import { Child } from '../../harness/child.ts'
import { hostServer } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import type { Round } from '../../harness/round.ts'
import type { Called, Calls } from './callers.ts'

const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
/** 320 requests per second, within the rate limits of callers and addresses. */
const CALLERS = 20
const PER_SECOND = 16

/** A host with the default limits, and its signed-in callers. */
export interface LoadedHost {
  readonly url: string
  /** The SQLite file. */
  readonly database: string
  /** The headers of a signed-in user outside the load. */
  readonly visitor: Headers
  shop(milliseconds: number): Promise<Called>
  stop(): Promise<void>
}

export async function startLoadedHost(round: Round, name: string): Promise<LoadedHost> {
  const directory = join(round.folder, name)
  await mkdir(directory)
  const host = new Child(hostServer)
  const callers = new Child(new URL('callers.ts', import.meta.url))
  round.teardown(() => Promise.all([callers.kill(), host.kill()]))
  const application = await prepareApplication(directory, modules)
  const [visitor = '', ...tokens] = await mintUsers(application, 1 + CALLERS)
  // A prepared application has no limits.
  const config = { auth: { issuer: application.issuer }, log: { level: 'silent' } }
  await writeFile(configFile(directory), JSON.stringify(config))
  const { url } = await host.ask<{ url: string }>({ directory })
  const port = Number(new URL(url).port)
  return {
    ...{ url, visitor: bearer(visitor), database: join(directory, 'data', 'app.db') },
    shop: (milliseconds) =>
      callers.ask<Called>({ port, tokens, perSecond: PER_SECOND, milliseconds } satisfies Calls),
    stop: () => host.stop(),
  }
}
