import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile } from '@mortise/host'
import { Child } from '../../harness/child.ts'
import { hostServer } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import type { Called, Calls } from './callers.ts'

const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
/** 320 requests per second, within the rate limits of callers and addresses. */
const CALLERS = 20
const PER_SECOND = 16

/** A host with the default limits, and its signed-in callers. */
export class LoadedHost {
  readonly #host = new Child(hostServer)
  readonly #callers = new Child(new URL('callers.ts', import.meta.url))
  #tokens: readonly string[] = []
  /** The headers of a signed-in user outside the load. */
  visitor: Readonly<Record<string, string>> = {}
  /** The SQLite file. */
  readonly database: string
  url = ''

  private constructor(directory: string) {
    this.database = join(directory, 'data', 'app.db')
  }

  /** @param directory of the new application */
  static async start(directory: string): Promise<LoadedHost> {
    const started = new LoadedHost(directory)
    await mkdir(directory)
    const application = await prepareApplication(directory, modules)
    const [visitor, ...tokens] = await mintUsers(application, 1 + CALLERS)
    started.visitor = { authorization: `Bearer ${visitor}` }
    started.#tokens = tokens
    // A prepared application has no limits.
    const config = { auth: { issuer: application.issuer }, log: { level: 'silent' } }
    await writeFile(configFile(directory), JSON.stringify(config))
    started.url = (await started.#host.ask<{ url: string }>({ directory })).url
    return started
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  shop(milliseconds: number): Promise<Called> {
    const calls: Calls = { port: this.port, tokens: this.#tokens, perSecond: PER_SECOND, milliseconds }
    return this.#callers.ask<Called>(calls)
  }

  stop(): Promise<void> {
    return this.#host.stop()
  }

  async kill(): Promise<void> {
    await Promise.all([this.#callers.kill(), this.#host.kill()])
  }
}
