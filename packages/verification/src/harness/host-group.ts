import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callRunningHost, configFile, mintToken, readLockFile, writeLockFile } from '@mortise/host'
import { KillableHost } from './killable-host.ts'
import { ownSchema } from './own-schema.ts'
import { type PreparedApplication, prepareApplication } from './prepare-application.ts'
import type { Random } from './random.ts'

export interface HostGroupOptions {
  /** An empty folder, for the applications. */
  readonly folder: string
  readonly modules: readonly string[]
  /** Each host's URL of one PostgreSQL database. Empty: a single host on SQLite. */
  readonly databases: readonly string[]
  /** The module that `KillableHost` runs, and its options besides the directory. */
  readonly file?: URL
  readonly options?: object
}

/** A module that serves its parent: the host as `app start` runs it. */
export const hostServer = new URL('host-server.ts', import.meta.url)

/** One host on SQLite, or several on one PostgreSQL database, each with its own folder. */
export class HostGroup {
  readonly #application: PreparedApplication
  readonly #directories: readonly string[]
  readonly #hosts: readonly KillableHost[]

  private constructor(
    application: PreparedApplication,
    directories: readonly string[],
    hosts: readonly KillableHost[],
  ) {
    this.#application = application
    this.#directories = directories
    this.#hosts = hosts
  }

  static async start({ folder, modules, databases, file, options }: HostGroupOptions): Promise<HostGroup> {
    const first = join(folder, 'application')
    await mkdir(first)
    const application = await prepareApplication(first, modules)
    const directories = databases.length === 0 ? [first] : []
    for (const [index, database] of databases.entries()) {
      const directory = join(folder, `application-${index + 1}`)
      await cp(first, directory, { recursive: true })
      const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
      await writeFile(configFile(directory), JSON.stringify({ ...config, database }))
      directories.push(directory)
    }
    const hosts = directories.map(
      (directory) => new KillableHost(file ?? hostServer, { ...options, directory }),
    )
    const group = new HostGroup(application, directories, hosts)
    try {
      // One after the other, because the first one migrates.
      for (const host of hosts) await host.start()
    } catch (error) {
      await group.stop()
      throw error
    }
    return group
  }

  /** An application folder of one of the hosts. */
  get directory(): string {
    return this.#directories[0] as string
  }

  any(random: Random): KillableHost {
    return this.#hosts[random.between(0, this.#hosts.length - 1)] as KillableHost
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

  mintToken(subject: string, scope?: string): Promise<string> {
    const { issuer, secret } = this.#application
    return mintToken({ issuer, secret: Buffer.from(secret), subject, scope, expiresIn: '1d' })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop()))
  }
}

/**
 * Runs `work` with three hosts on a schema of their own on a PostgreSQL server, or with one host on
 * SQLite.
 * @param server the URL of the server; undefined for SQLite
 */
export async function withHosts<Result>(
  server: string | undefined,
  options: Omit<HostGroupOptions, 'databases'>,
  work: (hosts: HostGroup) => Promise<Result>,
): Promise<Result> {
  const schema = server === undefined ? undefined : ownSchema(server)
  const databases = schema === undefined ? [] : [schema.url, schema.url, schema.url]
  let hosts: HostGroup | undefined
  try {
    hosts = await HostGroup.start({ ...options, databases })
    return await work(hosts)
  } finally {
    await hosts?.stop()
    await schema?.drop()
  }
}
