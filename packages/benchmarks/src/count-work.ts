import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Application } from '@mortise/host/serving'
import { mintUsers, prepareApplication } from '@mortise/verification'
import { createBareApp } from './bare/create-bare-app.ts'
import { openPostgresStore } from './bare/postgres-store.ts'
import { openSqliteStore } from './bare/sqlite-store.ts'
import { countStatements, treesWritten } from './count-statements.ts'
import { CountingProxy } from './counting-proxy.ts'
import { dropSchemas } from './fill-schema.ts'
import { prepareCallers, send } from './prepare-callers.ts'
import { type Other, scenarios } from './scenarios.ts'
import { bareServers, limits, modules } from './servers.ts'

/** The work of one request, sent alone: what is counted most often. */
export interface Work {
  /** BEGIN, savepoints and COMMIT are statements too. What comes after the COMMIT does not count. */
  readonly statements: number
  /** To PostgreSQL. */
  readonly roundTrips?: number
  /** The tables and indexes that SQLite opens for writing. */
  readonly trees?: readonly string[]
}

/** By the name of the scenario, then of the server. */
export type CountedWork = Readonly<Record<string, Readonly<Partial<Record<'host' | Other, Work>>>>>

const TIMES = 9
/** How the storage judges a read before the first time, and looks at the log now and then. */
const isAside = /^(EXPLAIN|PRAGMA)/
/**
 * What the host does aside adds statements, and can hide a round trip; on a busy machine what is sent
 * together may arrive apart.
 */
function mostOften(counts: readonly Work[]): Work | undefined {
  const alike = Map.groupBy(counts, (one) => JSON.stringify(one))
  return [...alike.values()].toSorted((one, other) => other.length - one.length)[0]?.[0]
}
/** What a request leaves to do, such as the places of its events, is done after this many milliseconds. */
const QUIET = 100

interface Counted {
  readonly name: 'host' | Other
  readonly url: string
  /** Runs a request, and returns its work. */
  count(request: () => Promise<unknown>): Promise<Work>
  close(): Promise<unknown>
}

/**
 * Counts the work for one request of each scenario, of the host and of the bare servers, all in
 * this process.
 * @param postgres the URL of a PostgreSQL server; without it, SQLite
 */
export async function countWork(directory: string, postgres?: string): Promise<CountedWork> {
  const folder = join(directory, 'counted')
  await mkdir(folder)
  const application = await prepareApplication(folder, modules)
  const tokens = await mintUsers(application, 2)
  const servers: Counted[] = []
  const schemas: string[] = []
  const ran = countStatements()
  try {
    const place = async (file: string) => {
      if (postgres === undefined) {
        const count = async (request: () => Promise<unknown>): Promise<Work> => {
          ran.begin()
          await request()
          const statements = ran.on(file).filter((text) => !isAside.test(text))
          return { statements: statements.length, trees: treesWritten(file, statements) }
        }
        return { file, url: '', schema: '', count, close() {} }
      }
      const schema = `counted_${randomBytes(8).toString('hex')}`
      schemas.push(schema)
      const proxy = await CountingProxy.start(postgres)
      const count = async (request: () => Promise<unknown>): Promise<Work> => {
        proxy.begin()
        await request()
        return { ...proxy.passed }
      }
      return { file, url: proxy.urlFor(postgres), schema, count, close: () => proxy.close() }
    }

    const ofHost = await place(join(folder, 'data', 'app.db'))
    const database = postgres && { APP_DATABASE: `${ofHost.url}?schema=${ofHost.schema}` }
    const host = await Application.start({
      directory: folder,
      port: 0,
      environment: { ...limits, ...database },
    })
    servers.push({
      name: 'host',
      url: host.url,
      count: ofHost.count,
      close: () => host.close().then(ofHost.close),
    })
    const engine = postgres ? 'postgres' : 'sqlite'
    for (const [name, options] of Object.entries(bareServers[engine])) {
      const { file, url, schema, count, close } = await place(join(directory, `counted ${name}.db`))
      const store =
        'commit' in options
          ? openSqliteStore({ file, ...options })
          : await openPostgresStore({ url, schema, ...options })
      const app = createBareApp(store, application.secret)
      servers.push({
        name: name as Other,
        url: await app.listen({ port: 0, host: '127.0.0.1' }),
        count,
        close: () => app.close().then(close),
      })
    }

    const work: Record<string, Partial<Record<'host' | Other, Work>>> = {}
    for (const { name, url, count } of servers) {
      const [callers] = await prepareCallers(url, tokens)
      if (callers === undefined) throw new Error('one connection has one set of callers')
      for (const scenario of scenarios) {
        const [request] = scenario.requests(callers)
        if (request === undefined) throw new Error(`${scenario.name} asks nothing`)
        const counts: Work[] = []
        for (let time = 0; time < TIMES; time += 1) {
          await pause(QUIET)
          let isServed = false
          const counted = await count(async () => {
            const response = await send(url, request)
            isServed = response.ok
            await response.arrayBuffer()
          })
          // A refusal, as of a host under load, is less work.
          if (isServed) counts.push(counted)
        }
        work[scenario.name] = { ...work[scenario.name], [name]: mostOften(counts) }
      }
    }
    return work
  } finally {
    for (const server of servers) await server.close()
    ran.stop()
    if (postgres) await dropSchemas(postgres, schemas)
  }
}
