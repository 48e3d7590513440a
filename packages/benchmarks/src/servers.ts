import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Child } from './child.ts'
import { comparableAnswer } from './comparable-answer.ts'
import { dropSchemas, fillSchema } from './fill-schema.ts'
import type { LoadPlan } from './load.ts'
import { prepareApplication } from './prepare-application.ts'
import { type Callers, mintUsers, prepareCallers, send } from './prepare-callers.ts'
import { type Bare, type Scenario, scenarios } from './scenarios.ts'
import type { Usage } from './serve-parent.ts'

export const CONNECTIONS = 32

export type ServerName = 'host' | Bare

/** One of the servers that are compared, in its process, with its database and its callers. */
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

  /** What `scenario` asks of this server. */
  plan(scenario: Scenario): Omit<LoadPlan, 'seconds'> {
    return { url: this.url, connections: this.#callers.map((callers) => scenario.requests(callers)) }
  }

  /** CPU time so far, in microseconds. */
  async cpu(): Promise<number> {
    return (await this.#child.ask<Usage>({})).cpu
  }
}

/**
 * Starts the host and what it is compared with, all with the same contents, below `directory` or each in a schema of
 * its own on the PostgreSQL server at `postgres`, and lets `use` have them until it is done.
 *
 * @param connections how many callers there are of each kind
 */
export async function withServers<Result>(
  directory: string,
  postgres: string | undefined,
  use: (servers: readonly ComparedServer[]) => Promise<Result>,
  connections = CONNECTIONS,
): Promise<Result> {
  const folder = join(directory, 'application')
  await mkdir(folder)
  const application = await prepareApplication(folder, ['@mortise/api-cart', '@mortise/api-purchase'])
  const tokens = await mintUsers(application, 2 * connections)
  const { secret } = application
  const bare = (commit: string) => ({ file: join(directory, `${commit}.db`), secret, commit })
  const schemas = {
    host: `host_${randomBytes(8).toString('hex')}`,
    bare: `bare_${randomBytes(8).toString('hex')}`,
  }
  const kinds: readonly (readonly [ServerName, string, object])[] = postgres
    ? [
        ['host', 'host-server', { directory: folder, database: `${postgres}?schema=${schemas.host}` }],
        ['bare', 'bare-server', { url: postgres, schema: schemas.bare, secret }],
      ]
    : [
        ['host', 'host-server', { directory: folder }],
        ['bare', 'bare-server', bare('each')],
        ['bare, grouped commits', 'bare-server', bare('grouped')],
      ]
  const children: Child[] = []
  try {
    const servers: ComparedServer[] = []
    for (const [name, file, options] of kinds) {
      const child = new Child(file)
      children.push(child)
      const { url } = await child.ask<{ url: string }>(options)
      if (postgres) await fillSchema(postgres, name === 'host' ? schemas.host : schemas.bare)
      servers.push(new ComparedServer(name, url, child, await prepareCallers(url, tokens)))
    }
    return await use(servers)
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    if (postgres) await dropSchemas(postgres, Object.values(schemas))
  }
}

/** @throws {Error} where the servers answer a scenario differently, ids and times apart */
export async function assertSameAnswers(servers: readonly ComparedServer[]): Promise<void> {
  for (const scenario of scenarios) {
    const answers = new Map<string, string>()
    for (const server of servers) {
      const [request] = server.plan(scenario).connections[0] ?? []
      if (!request) throw new Error(`${scenario.name} asks nothing`)
      answers.set(server.name, await comparableAnswer(await send(server.url, request)))
    }
    if (new Set(answers.values()).size === 1) continue
    const told = Array.from(answers, ([name, answer]) => `--- ${name}\n${answer}`).join('\n')
    throw new Error(
      `${scenario.name} is answered differently, so it cannot be compared: adapt the bare server.\n${told}`,
    )
  }
}
