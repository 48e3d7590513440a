import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { type ActiveModule, locationOf } from '@mortise/host'
import type {
  Access,
  EventSchemas,
  ModuleContext,
  ModulePlugin,
  Perform,
  React,
  Transaction,
} from '@mortise/module-sdk'
import { declarationOf, isRouteResponse } from '@mortise/module-sdk/host'
import { generatorOf, kindOf, lookAt } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyRequest, RouteOptions } from 'fastify'
import { inJob, inTransaction } from '../watch/seen.ts'

/** A route as its module registers it. */
export interface Route {
  /** `GET /note/:id` */
  readonly name: string
  readonly method: string
  /** Without the base path. */
  readonly path: string
  readonly access: Access
  readonly schema: {
    readonly summary?: string
    readonly params?: TSchema
    readonly querystring?: TSchema
    readonly body?: TSchema
    readonly response?: Readonly<Record<string, TSchema>>
  }
  readonly options: RouteOptions
  /** `GET /note/:id (index.js:12)` */
  readonly where: string
}

/** What a module does while it registers and serves. */
export interface WatchedModule {
  readonly id: string
  readonly directory: string
  readonly manifest: ActiveModule['manifest']
  readonly routes: Route[]
  readonly declared: ReturnType<typeof declarationOf>
  readonly events: EventSchemas
  readonly provided: Set<string>
  readonly handled: Map<string, React>
  /** What it does every minute and its jobs, by name, with their places. */
  readonly minutes: Map<string, { readonly work: () => Transaction<boolean>; readonly where: string }>
  readonly works: Map<string, string>
  claims: boolean
  /** Routes that return the result of `respond` to Fastify. */
  readonly misplacedResponses: Set<Route>
  /** The id of the caller of the last request. */
  caller: string | undefined
  /** `file:line` of the first place in the module of a stack. */
  place(stack: string | undefined): string | undefined
}

/** The module with a plugin that reports what it does. */
export function watchModule(module: ActiveModule): {
  readonly watched: WatchedModule
  readonly module: ActiveModule
} {
  const { id, directory, manifest, plugin } = module
  const declared = declarationOf(plugin)
  const isForeign = foreignTo(directory)
  const watched: WatchedModule = {
    ...{ id, directory, manifest, routes: [], declared, events: declared?.events ?? {} },
    ...{ provided: new Set(), handled: new Map(), misplacedResponses: new Set() },
    ...{ minutes: new Map(), works: new Map(), claims: false },
    caller: undefined,
    place: (stack) => {
      const lines = stack?.split('\n').filter((line) => !isForeign(line))
      return locationOf(lines?.join('\n'), directory)
    },
  }
  const watch: ModulePlugin = async (app, context) => {
    app.addHook('onRoute', (options) => {
      const stack = new Error().stack
      for (const method of [options.method].flat()) {
        if (method === 'HEAD') continue
        watched.routes.push(routeOf(options, method, app.prefix, watched.place(stack)))
      }
    })
    app.addHook('preHandler', async (request) => {
      if (request.routeOptions.config.access !== 'public') watched.caller = request.caller.id
      watchTransaction(request as FastifyRequest)
    })
    app.addHook('preSerialization', async (request, _reply, payload) => {
      const { url, method } = request.routeOptions
      const route = watched.routes.find((one) => app.prefix + one.path === url && one.method === method)
      if (isRouteResponse(payload) && route) watched.misplacedResponses.add(route)
      return payload
    })
    await (plugin as ModulePlugin)(app, watchContext(context, watched))
  }
  // Fastify reads its properties: name, range, encapsulation.
  return { watched, module: { ...module, plugin: Object.assign(watch, plugin) } }
}

/** Whether a line of a stack is in a package beside the module that does not come with it: the host, or the kit. */
function foreignTo(directory: string): (line: string) => boolean {
  const own = new Set<string>()
  const add = (folder: string): void => {
    const file = join(folder, 'package.json')
    if (!existsSync(file)) return
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(file, 'utf8'))
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (own.has(name)) continue
      own.add(name)
      add(join(directory, 'node_modules', name))
    }
  }
  add(directory)
  const beside = `${realpathSync(directory)}/node_modules/`
  return (line) => {
    const [name] = /^(@[^/]+\/)?[^/]+/.exec(line.split(beside)[1] ?? '') ?? []
    return name !== undefined && !own.has(name)
  }
}

function routeOf(options: RouteOptions, method: string, prefix: string, place: string | undefined): Route {
  const path = options.url.slice(prefix.length) || '/'
  const name = `${method} ${path}`
  const schema = (options.schema ?? {}) as Route['schema']
  const access = options.config?.access as Access
  return { name, method, path, access, schema, options, where: place ? `${name} (${place})` : name }
}

function watchContext(context: ModuleContext, watched: WatchedModule): ModuleContext {
  const { contracts } = context
  const placed = (what: string) => {
    const place = watched.place(new Error().stack)
    return place ? `${what} (${place})` : what
  }
  const seen = {
    contracts: {
      get: contracts.get.bind(contracts),
      required: contracts.required.bind(contracts),
      provide(name: string, version: string, implementation: unknown) {
        contracts.provide(name as never, version, implementation as never)
        watched.provided.add(name)
      },
    },
    on(type: string, react: React) {
      watched.handled.set(type, react)
      // The host looks at the kind of the function, so an async one stays as it is.
      context.on(type, isAsync(react) ? react : (event) => inside(() => react(event as never)))
    },
    onClaim(take: Parameters<ModuleContext['onClaim']>[0]) {
      watched.claims = true
      context.onClaim(take)
    },
    everyMinute(name: string, work: () => Transaction<boolean>) {
      watched.minutes.set(name, { work, where: placed(`everyMinute "${name}"`) })
      // Once: one that never ends would leave no time for the requests.
      context.everyMinute(name, function* () {
        yield* work()
        return false
      })
    },
    work(name: string, options: Parameters<ModuleContext['work']>[1], perform: Perform<unknown>) {
      watched.works.set(name, placed(`work "${name}"`))
      return context.work(name, options, (job) => inJob(job.id, () => perform(job)))
    },
  }
  return Object.create(context, Object.getOwnPropertyDescriptors(seen)) as ModuleContext
}

function watchTransaction(request: FastifyRequest): void {
  const original = request.transaction.bind(request)
  request.transaction = (steps) => original(isAsync(steps) ? steps : () => inside(steps))
}

const isAsync = (make: unknown) => kindOf(make)?.startsWith('Async') === true

/** The same steps; each part is known to be in a transaction. */
function inside<Result>(make: () => Transaction<Result>): Transaction<Result> {
  const steps = inTransaction(() => generatorOf(make))
  return lookAt(
    {
      next: (result) => inTransaction(() => steps.next(result)),
      throw: (error) => inTransaction(() => steps.throw(error)),
    },
    () => {},
  )
}
