import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '@mortise/application'
import type { EventSchemas } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { type Method, TestCaller } from '../../test-caller.ts'
import { inRequest, type SeenStep } from '../watch/seen.ts'
import { type Exchange, isSuccess, type Person, type Request, wrote } from './exchange.ts'
import { marked, validValues } from './generate.ts'
import { Ids, parametersOf } from './ids.ts'
import { OwnTables } from './own-tables.ts'
import { payloadOf } from './payload.ts'
import type { Route, WatchedModule } from './watch-module.ts'

/** For one response, in milliseconds. */
const PATIENCE = 10_000
/** For what a stream without end sends at its beginning, in milliseconds. */
const GLANCE = 50

/** A host that serves the module, on a database of its own, and what has happened so far. */
export class World {
  readonly module: WatchedModule
  readonly storage: Storage
  readonly tables: OwnTables
  readonly app: FastifyInstance
  readonly exchanges: Exchange[] = []
  /** Errors of event handlers. */
  readonly failedEvents: { type: string; stack: string }[]
  /** Log lines with the value of a secret setting. */
  readonly logged: readonly string[]
  /** All modules, with the events that they emit. */
  readonly emitters: readonly { readonly id: string; readonly events: EventSchemas }[]
  readonly people: Readonly<Record<'ann' | 'bob' | 'carol' | 'admin' | 'guest', Person>>
  readonly #errors: string[]
  readonly #say: (doing: string) => void
  readonly #silent = new Set<Route>()
  #marks = 0

  constructor(parts: Parts) {
    const { module, storage, app, config, errors, failedEvents, say } = parts
    this.emitters = parts.emitters
    this.module = module
    this.storage = storage
    this.tables = new OwnTables(storage, module.manifest.tables)
    this.app = app
    this.failedEvents = failedEvents
    this.logged = parts.logged
    this.#errors = errors
    this.#say = say
    const person = (name: string, caller: TestCaller): Person => ({
      name,
      caller,
      ids: new Ids(),
      given: new Set(),
      mark: `of-${name}-`,
    })
    const user = (name: string, scope?: string) => person(name, TestCaller.user(app, config, name, scope))
    this.people = {
      ...{ ann: user('ann'), bob: user('bob'), carol: user('carol'), admin: user('admin', 'admin') },
      guest: person('guest', TestCaller.guest(app, config)),
    }
  }

  get routes(): readonly Route[] {
    return this.module.routes
  }

  /** The routes that create something, parents first. */
  get creating(): readonly Route[] {
    return this.routes
      .filter(({ method }) => method === 'POST' || method === 'PUT')
      .toSorted((one, other) => parametersOf(one).length - parametersOf(other).length)
  }

  /** Who may call the route, as far as its access shows. */
  allowed({ access }: Route): Person {
    const { ann, admin, guest } = this.people
    return access === 'caller' ? ann : access === 'public' ? guest : admin
  }

  async send(caller: Person, route: Route, request: Request = {}): Promise<Exchange> {
    const path = request.path ?? route.path.replace(/:\w+/g, 'unknown')
    const url = request.query ? `${path}?${request.query}` : path
    this.#say(`responding ${route.name}`)
    const steps: SeenStep[] = []
    this.#errors.length = 0
    const { body, headers } = request
    const payload = payloadOf(route.schema.body, body)
    const type: Record<string, string> =
      typeof payload === 'string' ? { 'content-type': 'application/json' } : {}
    this.module.caller = undefined
    const begun = performance.now()
    // A route that is silent once would be each time.
    const responded = this.#silent.has(route)
      ? undefined
      : await within(
          PATIENCE,
          inRequest(route.method, steps, () =>
            caller.caller.begin(route.method as Method, url, payload, { ...type, ...headers }),
          ),
        )
    caller.id ??= this.module.caller
    const text = responded && (await readBody(responded))
    if (text === undefined) this.#silent.add(route)
    const exchange: Exchange = {
      ...{ caller, route, url, body, text: text ?? '' },
      status: text === undefined ? 0 : (responded?.statusCode ?? 0),
      headers: responded?.headers ?? {},
      json: parsed(text ?? ''),
      steps: [...steps],
      took: performance.now() - begun,
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

  /** Also shows whether the request changed the module's rows. They may also change in the background. */
  async sendWatched(
    ...request: Parameters<World['send']>
  ): Promise<Exchange & { readonly changed: boolean }> {
    await this.settled()
    const before = await this.tables.rows()
    const exchange = await this.send(...request)
    await this.settled()
    const changed = before !== (await this.tables.rows()) && wrote(exchange)
    return { ...exchange, changed }
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
    for (const route of this.creating) {
      const sender = this.may(caller, route) ? caller : this.allowed(route)
      for (const request of this.requests(sender, route, count)) await this.send(sender, route, request)
      for (const list of this.lists(caller)) await this.send(caller, list.route, { path: list.path })
    }
    await this.settled()
  }

  /** Has the caller create one of each, and read nothing. */
  async add(caller: Person): Promise<void> {
    for (const route of this.creating) {
      if (!this.may(caller, route)) continue
      for (const request of this.requests(caller, route, 1, this.#marks))
        await this.send(caller, route, request)
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
    if (this.module.handled.size + this.module.works.size > 0) await this.app.reacted?.()
  }

  async close(): Promise<void> {
    await this.app.close()
  }

  #mark({ mark }: Person): string {
    return `${mark}${this.#marks++}`
  }
}

interface Parts extends Pick<World, 'module' | 'storage' | 'app' | 'failedEvents' | 'logged' | 'emitters'> {
  readonly config: Config
  readonly errors: string[]
  /** Gets, before each request, what the host does. */
  readonly say: (doing: string) => void
}

/** Undefined if `work` takes longer than so many milliseconds. */
async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | undefined> {
  const done = new AbortController()
  const result = await Promise.race([work, pause(milliseconds, undefined, { signal: done.signal })])
  done.abort()
  return result
}

/** The body, and of Server-Sent Events, which have no end, the first ones. Undefined if it does not end. */
async function readBody({ headers, raw, stream }: LightMyRequestResponse): Promise<string | undefined> {
  const isEndless = String(headers['content-type']).startsWith('text/event-stream')
  const parts: Buffer[] = []
  const body = stream()
  const read = async () => {
    for await (const part of body) parts.push(part)
    return true
  }
  const hasEnded = await within(
    isEndless ? GLANCE : PATIENCE,
    read().catch(() => true),
  )
  if (!hasEnded) raw.res.destroy()
  return hasEnded || isEndless ? Buffer.concat(parts).toString() : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
