import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Child, hostServer, mintUsers, prepareApplication, type Usage } from '@mortise/verification'
import { comparableResponse } from './comparable-response.ts'
import { dropSchemas, fillSchema } from './fill-schema.ts'
import type { LoadPlan } from './load.ts'
import { type Callers, prepareCallers, send } from './prepare-callers.ts'
import { type Other, type Scenario, scenarios } from './scenarios.ts'

export const CONNECTIONS = 32

/** Rate limits that count but are never reached. */
export const limits = Object.fromEntries(
  ['MAX', 'MAX_PER_ADDRESS', 'MAX_BYTES', 'MAX_BYTES_PER_ADDRESS', 'MAX_NEW_GUESTS'].map((name) => [
    `APP_RATE_LIMIT_${name}`,
    '1000000000',
  ]),
)

export const modules = ['@mortise/api-cart', '@mortise/api-purchase']

/** The bare servers, with their options. */
export const bareServers = {
  sqlite: { bare: { commit: 'each' }, 'bare, grouped commits': { commit: 'grouped' } },
  postgres: { bare: { oneStatement: false }, 'bare, one statement': { oneStatement: true } },
} as const

export type ServerName = 'host' | Other

/** One of the compared servers, with its process, database and callers. */
export class ComparedServer {
  readonly name: ServerName
  readonly url: string
  readonly #child: Child
  readonly #callers: readonly Callers[]

  constructor(name: ServerName, url: string, child: Child, callers: readonly Callers[]) {
    this.name = name
    this.url = url
    this.#child = child
    this.#callers = callers
  }

  /** The load of `scenario` for this server. */
  plan(scenario: Scenario): Omit<LoadPlan, 'seconds'> {
    return { url: this.url, connections: this.#callers.map((callers) => scenario.requests(callers)) }
  }

  usage(): Promise<Usage> {
    return this.#child.ask<Usage>({})
  }
}

export interface ServersOptions {
  /** The folder for their files. */
  readonly directory: string
  /** The URL of a PostgreSQL server, with a schema for each; without it, SQLite. */
  readonly postgres?: string | undefined
  /** Another built checkout of this repository, whose host is one of the servers. */
  readonly before?: string | undefined
  /** The number of callers of each kind. */
  readonly connections?: number
}

/**
 * Starts the host and the servers to compare it with, all with the same data, for the duration of
 * `use`.
 */
export async function withServers<Result>(
  { directory, postgres, before, connections = CONNECTIONS }: ServersOptions,
  use: (servers: readonly ComparedServer[]) => Promise<Result>,
): Promise<Result> {
  const children: Child[] = []
  const schemas: string[] = []
  const servers: ComparedServer[] = []
  const add = async (name: ServerName, child: Child, tokens: readonly string[], options: object) => {
    children.push(child)
    const { url } = await child.ask<{ url: string }>(options)
    if (postgres) await fillSchema(postgres, schemas.at(-1) as string)
    servers.push(new ComparedServer(name, url, child, await prepareCallers(url, tokens)))
  }
  const newSchema = () => {
    const schema = `compared_${randomBytes(8).toString('hex')}`
    schemas.push(schema)
    return schema
  }
  const addHost = async (name: ServerName, environment: object, checkout = thisCheckout) => {
    const folder = join(directory, name)
    await mkdir(folder)
    const application = await checkout.prepareApplication(folder, modules)
    const database = postgres && `${postgres}?schema=${newSchema()}`
    const tokens = await mintUsers(application, 2 * connections)
    const child = new Child(checkout.hostServer)
    await add(name, child, tokens, { directory: folder, environment, ...(database && { database }) })
    return { application, tokens }
  }
  try {
    const { application, tokens } = await addHost('host', limits)
    const { secret } = application
    for (const [name, options] of Object.entries(bareServers[postgres ? 'postgres' : 'sqlite'])) {
      const place = postgres
        ? { url: postgres, schema: newSchema() }
        : { file: join(directory, `${name}.db`) }
      const child = new Child(new URL('bare-server.ts', import.meta.url))
      await add(name as Other, child, tokens, { ...place, ...options, secret })
    }
    await addHost('host, no rate limits', {})
    if (before !== undefined) await addHost('host before', limits, await otherCheckout(before))
    return await use(servers)
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    if (postgres) await dropSchemas(postgres, schemas)
  }
}

interface Checkout {
  readonly hostServer: URL
  readonly prepareApplication: typeof prepareApplication
}

export const thisCheckout: Checkout = { hostServer, prepareApplication }

export async function otherCheckout(directory: string): Promise<Checkout> {
  return import(pathToFileURL(resolve(directory, 'packages/verification/src/index.ts')).href)
}

/**
 * Skips the host of another checkout, whose responses may differ because of the change.
 * @throws {Error} if the other servers' responses differ in more than ids and times
 */
export async function assertSameResponses(servers: readonly ComparedServer[]): Promise<void> {
  for (const scenario of scenarios) {
    const responses = new Map<string, string>()
    for (const server of servers) {
      if (server.name === 'host before') continue
      const [request] = server.plan(scenario).connections[0] ?? []
      if (!request) throw new Error(`${scenario.name} asks nothing`)
      responses.set(server.name, await comparableResponse(await send(server.url, request)))
    }
    if (new Set(responses.values()).size === 1) continue
    const reported = Array.from(responses, ([name, response]) => `--- ${name}\n${response}`).join('\n')
    throw new Error(
      `${scenario.name} gets another response, so it cannot be compared: adapt the bare server.\n${reported}`,
    )
  }
}
