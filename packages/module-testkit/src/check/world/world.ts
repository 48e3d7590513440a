import { setTimeout as pause } from 'node:timers/promises'
import {
  type ActiveModule,
  type Config,
  EventLog,
  type Inspect,
  inContractOrder,
  migrateHost,
  moduleMigrations,
  type Storage,
  tokenIssuers,
} from '@mortise/host'
import { createHost, createLogger, createTokenVerifier } from '@mortise/host/serving'
import { byEngine, type EventSchemas, identifier, sql } from '@mortise/module-sdk'
import { declarationOf } from '@mortise/module-sdk/host'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { type Method, TestCaller } from '../../test-caller.ts'
import { inRequest, stepsOfRequest } from '../watch/seen.ts'
import { watchStorage } from '../watch/watch-storage.ts'
import { marked, validValues } from './generate.ts'
import { Ids, parametersOf } from './ids.ts'
import { type Route, type WatchedModule, watchModule } from './watch-module.ts'

/** One request and its response. */
export interface Exchange {
  readonly caller: Person
  readonly route: Route
  /** With the query, without the base path. */
  readonly url: string
  readonly body: unknown
  /** 0: none within the time. */
  readonly status: number
  readonly text: string
  readonly json: unknown
  readonly headers: Readonly<Record<string, unknown>>
  /** The statements and events of it. */
  readonly steps: readonly string[]
  /** The stack of the error behind a 500. */
  readonly error: string | undefined
}

export interface Request {
  /** Instead of the route's path. */
  readonly path?: string
  readonly query?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A caller with what they own. */
export interface Person {
  readonly name: string
  readonly caller: TestCaller
  readonly ids: Ids
  /** As the module knows the person, once it does. */
  id?: string | undefined
  /** Part of each text that the person writes. */
  readonly mark: string
}

/** For one response, in milliseconds. */
const PATIENCE = 10_000

/** A host that serves the module, on a database of its own, and what has happened so far. */
export class World {
  readonly module: WatchedModule
  readonly storage: Storage
  readonly app: FastifyInstance
  readonly exchanges: Exchange[] = []
  /** Errors of event handlers. */
  readonly failedEvents: { type: string; stack: string }[]
  /** All modules, with the events that they emit. */
  readonly emitters: readonly { readonly id: string; readonly events: EventSchemas }[]
  readonly people: Readonly<Record<'ann' | 'bob' | 'carol' | 'admin' | 'guest', Person>>
  readonly #errors: string[]
  readonly #say: (doing: string) => void
  readonly #silent = new Set<Route>()
  #marks = 0

  private constructor(parts: Parts) {
    const { module, storage, app, config, errors, failedEvents, say } = parts
    this.emitters = parts.emitters
    this.module = module
    this.storage = storage
    this.app = app
    this.failedEvents = failedEvents
    this.#errors = errors
    this.#say = say
    const person = (name: string, caller: TestCaller): Person => ({
      name,
      caller,
      ids: new Ids(),
      mark: `of-${name}-`,
    })
    const user = (name: string, scope?: string) => person(name, TestCaller.user(app, config, name, scope))
    this.people = {
      ...{ ann: user('ann'), bob: user('bob'), carol: user('carol'), admin: user('admin', 'admin') },
      guest: person('guest', TestCaller.guest(app, config)),
    }
  }

  static async open(
    { config, modules, begin }: Pick<Parameters<Inspect>[0], 'config' | 'modules' | 'begin'>,
    id: string,
    storage: Storage,
  ): Promise<World> {
    const errors: string[] = []
    const failedEvents: World['failedEvents'] = []
    await migrateHost(storage)
    await storage.migrate(moduleMigrations(modules))
    let module: WatchedModule | undefined
    const watched = modules.map((one): ActiveModule => {
      if (one.id !== id) return one
      const watching = watchModule(one)
      module = watching.watched
      return watching.module
    })
    const observed = watchStorage(storage, stepsOfRequest)
    const logger = createLogger({ ...config.log, level: 'warn' }, { write: (line) => hear(line) })
    function hear(line: string) {
      const { msg, err, event, type = '' } = JSON.parse(line) as LogLine
      if (msg === 'a request failed') errors.push(err?.stack ?? '')
      else if (event !== undefined && err?.stack) failedEvents.push({ type, stack: err.stack })
    }
    const app = await createHost({
      ...{ config, logger, storage: observed, events: new EventLog(storage, logger) },
      tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
      modules: inContractOrder(watched),
      notReady: () => undefined,
    })
    await app.react?.()
    const say = (doing: string) => begin(id, doing)
    const emitters = modules.map(({ id, plugin }) => ({ id, events: declarationOf(plugin)?.events ?? {} }))
    const own = { module: module as WatchedModule, storage, app, emitters }
    return new World({ ...own, config, errors, failedEvents, say })
  }

  get routes(): readonly Route[] {
    return this.module.routes
  }

  /** Who may call the route, as far as its access tells. */
  allowed({ access }: Route): Person {
    const { ann, admin, guest } = this.people
    return access === 'caller' ? ann : access === 'public' ? guest : admin
  }

  async send(caller: Person, route: Route, request: Request = {}): Promise<Exchange> {
    const path = request.path ?? route.path.replace(/:\w+/g, 'unknown')
    const url = request.query ? `${path}?${request.query}` : path
    this.#say(`answering ${route.name}`)
    const steps: string[] = []
    this.#errors.length = 0
    const { body, headers } = request
    const isText = typeof body === 'string'
    const payload = body === undefined ? undefined : isText ? body : (JSON.stringify(body) as string)
    const type: Record<string, string> = payload === undefined ? {} : { 'content-type': 'application/json' }
    this.module.caller = undefined
    const answering = new AbortController()
    // A route that is silent once would be each time.
    const isSilent = this.#silent.has(route)
    const answered = isSilent
      ? undefined
      : await Promise.race([
          inRequest(route.method, steps, () =>
            caller.caller.request(route.method as Method, url, payload, { ...type, ...headers }),
          ),
          pause(PATIENCE, undefined, { signal: answering.signal }),
        ])
    answering.abort()
    caller.id ??= this.module.caller
    if (answered === undefined) this.#silent.add(route)
    const text = answered?.body ?? ''
    const exchange: Exchange = {
      ...{ caller, route, url, body, text, status: answered?.statusCode ?? 0 },
      headers: answered?.headers ?? {},
      json: parsed(text),
      steps: [...steps],
      error: this.#errors.at(-1),
    }
    this.exchanges.push(exchange)
    if (isSuccess(exchange)) {
      const location = exchange.headers.location as string | undefined
      caller.ids.learn(path, exchange.json, location)
      if (route.method === 'PUT') {
        const slash = path.lastIndexOf('/')
        caller.ids.add(path.slice(0, slash), decodeURIComponent(path.slice(slash + 1)))
      }
    }
    return exchange
  }

  /** A request of `caller` that the route's schemas accept, with the caller's ids in its path. */
  *requests(caller: Person, route: Route, count: number, seed?: number): Generator<Request> {
    const paths = this.pathsOf(caller, route)
    if (paths.length === 0) return
    const { body } = route.schema
    const bodies = body ? validValues(body, count, seed) : [undefined]
    for (const [index, value] of bodies.entries()) {
      const path = paths[index % paths.length] as string
      const own = body ? marked(body, value, this.#mark(caller)) : value
      yield { path, ...(own === undefined ? {} : { body: own }) }
    }
  }

  /** Own paths; for a route that creates under a name of the caller's choice, new ones. */
  pathsOf(caller: Person, route: Route): string[] {
    const own = caller.ids.paths(route)
    if (own.length > 0 || route.method !== 'PUT') return own
    const names = validValues(route.schema.params ?? Type.Object({}), 2) as Record<string, string>[]
    return names.map((values) =>
      route.path.replace(/:(\w+)/g, (_, name) =>
        encodeURIComponent(String(values[name] || `${caller.name}-1`)),
      ),
    )
  }

  /** Has the caller create what its routes create. */
  async fill(caller: Person, count = 3): Promise<void> {
    const creating = this.routes
      .filter(({ method }) => method === 'POST' || method === 'PUT')
      .toSorted((one, other) => parametersOf(one).length - parametersOf(other).length)
    for (const route of creating) {
      const sender = this.may(caller, route) ? caller : this.allowed(route)
      for (const request of this.requests(sender, route, count)) await this.send(sender, route, request)
      for (const list of this.lists(caller)) await this.send(caller, list.route, { path: list.path })
    }
    await this.settled()
  }

  /** Whether the route is for any caller, rather than for everyone or for some. */
  may({ name }: Person, { access }: Route): boolean {
    return access === 'caller' || (access === 'public' ? name === 'guest' : name === 'admin')
  }

  /** Each GET of the caller that needs no id, or own ones. */
  lists(caller: Person): { route: Route; path: string }[] {
    return this.routes
      .filter((route) => route.method === 'GET' && !route.path.includes('*'))
      .filter((route) => route.access === 'public' || this.may(caller, route))
      .flatMap((route) =>
        caller.ids
          .paths(route)
          .slice(0, 3)
          .map((path) => ({ route, path })),
      )
  }

  /** Resolves when the event handlers are done. */
  async settled(): Promise<void> {
    if (this.module.handled.size > 0) await this.app.reacted?.()
  }

  /** The tables of the module. */
  async tables(): Promise<string[]> {
    const prefix = this.module.manifest.tables
    if (prefix === undefined) return []
    const rows = await this.storage.many<{ name: string }>(
      byEngine({
        sqlite: sql`SELECT name FROM sqlite_schema WHERE type = 'table'`,
        postgres: sql`SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()`,
      }),
    )
    return rows.map(({ name }) => name).filter((name) => name === prefix || name.startsWith(`${prefix}_`))
  }

  /** All rows of the module, in a form to compare; without the counts that a RankedList folds in the background. */
  async rows(): Promise<string> {
    await this.settled()
    const tables: string[] = []
    for (const table of await this.tables()) {
      if (/_(rank|group)/.test(table)) continue
      const rows = await this.storage.many(sql`SELECT * FROM ${identifier(table)}`)
      tables.push(`${table} ${rows.map((row) => JSON.stringify(row, plain)).sort()}`)
    }
    return tables.join('\n')
  }

  /** The module's tables and indexes, in a form to compare. */
  async schema(): Promise<string> {
    const columns = byEngine({
      sqlite: sql`
        SELECT master.name, type, tbl_name AS "table", (SELECT group_concat(name || type || "notnull" || pk, ',')
          FROM pragma_table_info(master.name)) AS columns FROM sqlite_schema AS master`,
      postgres: sql`
        SELECT table_name::text AS "table", column_name::text AS name, data_type::text AS type, is_nullable::text AS columns
        FROM information_schema.columns WHERE table_schema = current_schema()`,
    })
    const rows = await this.storage.many<{ table: string }>(columns)
    const own = new Set(await this.tables())
    return rows
      .filter(({ table }) => own.has(table))
      .map((row) => JSON.stringify(row))
      .sort()
      .join('\n')
  }

  async close(): Promise<void> {
    await this.app.close()
  }

  #mark({ mark }: Person): string {
    return `${mark}${this.#marks++}`
  }
}

interface LogLine {
  readonly msg?: string
  readonly err?: { readonly stack?: string }
  /** The id and type of an event whose handler failed. */
  readonly event?: string
  readonly type?: string
}

interface Parts extends Pick<World, 'module' | 'storage' | 'app' | 'failedEvents' | 'emitters'> {
  readonly config: Config
  readonly errors: string[]
  readonly say: (doing: string) => void
}

/** Whether it ran a statement that changes the module's rows, or emitted an event. */
export const writes = ({ steps }: Pick<Exchange, 'steps'>): string | undefined =>
  steps.find((step) => /^(insert|update|delete|replace|event)\b/i.test(step) && !/\bmortise_/.test(step))

export const isSuccess = ({ status }: Pick<Exchange, 'status'>): boolean => status >= 200 && status < 300

const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
