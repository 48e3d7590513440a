import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, readLockFile, writeLockFile } from '@mortise/application'
import { callRunningHost, mintToken } from '@mortise/host'
import { bearer, Caller } from './caller.ts'
import { KillableHost } from './killable-host.ts'
import { type PreparedApplication, prepareApplication } from './prepare-application.ts'
import type { Random } from './random.ts'
import type { Round } from './round.ts'

export interface HostGroupOptions {
  readonly modules: readonly string[]
  /** Each host's URL of one PostgreSQL database; by default three of the round's, or SQLite. */
  readonly databases?: readonly string[]
  /** The module that `KillableHost` runs, and its options besides the directory. */
  readonly file?: URL
  readonly options?: object
  /** Settings of modules, by id. */
  readonly settings?: Readonly<Record<string, object>>
}

/** A module that serves its parent: the host as `app start` runs it. */
export const hostServer = new URL('host-server.ts', import.meta.url)

/** Options for hosts with mistakes. @param file a module that exports `bugs`; undefined names are left out */
export const planted = (file: URL, ...names: readonly (string | undefined)[]) => ({
  file: new URL('planted-host.ts', import.meta.url),
  options: { file: file.href, planted: names.filter((name) => name !== undefined) },
})

/** One host on SQLite, or several on one PostgreSQL database, each with its own folder. */
export class HostGroup {
  readonly #round: Round
  readonly #application: PreparedApplication
  readonly #directories: readonly string[]
  readonly #hosts: readonly KillableHost[]

  private constructor(
    round: Round,
    application: PreparedApplication,
    directories: readonly string[],
    hosts: readonly KillableHost[],
  ) {
    this.#round = round
    this.#application = application
    this.#directories = directories
    this.#hosts = hosts
  }

  /** They stop at the end of the round. */
  static async start(
    round: Round,
    { modules, databases, file = hostServer, options, settings = {} }: HostGroupOptions,
  ): Promise<HostGroup> {
    const first = await mkdtemp(join(round.folder, 'application-'))
    const application = await prepareApplication(first, modules, settings)
    const { database } = round
    const directories = await copiesOf(
      first,
      databases ?? (database === undefined ? [] : [database, database, database]),
    )
    const hosts = directories.map((directory) => new KillableHost(file, { ...options, directory }))
    const group = new HostGroup(round, application, directories, hosts)
    round.teardown(() => group.stop())
    // One after the other, because the first one migrates.
    for (const host of hosts) await host.start()
    return group
  }

  /** An application folder of one of the hosts. */
  get directory(): string {
    return this.#directories[0] as string
  }

  any(random: Random): KillableHost {
    return this.#hosts[random.between(0, this.#hosts.length - 1)] as KillableHost
  }

  /** One who sends each request to any host; without headers, of nobody. */
  caller(headers = {}, random: Random = this.#round.random): Caller {
    return new Caller(this.#round.agent, () => this.any(random).url, headers)
  }

  /** A user who sends each request to any host. */
  async user(subject: string, random?: Random, scope?: string): Promise<Caller> {
    const { issuer, secret } = this.#application
    const key = Buffer.from(secret)
    // As long as a clock may be ahead.
    const token = await mintToken({
      issuer,
      secret: key,
      subject,
      scopes: scope?.split(' '),
      expiresIn: '3650d',
    })
    return this.caller(bearer(token), random)
  }

  /** Switches one host to another generation, which disables or enables `module`. */
  async switchAny(random: Random, module: string): Promise<void> {
    const directory = this.#directories[random.between(0, this.#directories.length - 1)] as string
    const lock = await readLockFile(directory)
    const locked = lock.modules[module]
    if (locked === undefined) throw new Error(`${module} is not installed`)
    await writeLockFile(directory, {
      ...lock,
      generation: lock.generation + 1,
      modules: { ...lock.modules, [module]: { ...locked, enabled: !locked.enabled } },
    })
    await callRunningHost(directory, 'activate')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop()))
  }
}

/**
 * Copies of a prepared application, one for each host, as a rollout to several machines has them.
 * @param databases the URL of each host's database
 * @returns the folders; without a database, the application's own
 */
export async function copiesOf(application: string, databases: readonly string[]): Promise<string[]> {
  if (databases.length === 0) return [application]
  const config = JSON.parse(await readFile(configFile(application), 'utf8'))
  return Promise.all(
    databases.map(async (database, index) => {
      const directory = `${application}-${index + 1}`
      await cp(application, directory, { recursive: true })
      await writeFile(configFile(directory), JSON.stringify({ ...config, database }))
      return directory
    }),
  )
}
