import { isServing } from '@mortise/application'
import type {
  Access,
  Database,
  EventLog as EventReader,
  ModuleContext,
  Operator,
  Perform,
  React,
  WorkOptions,
} from '@mortise/module-sdk'
import { declarationOf } from '@mortise/module-sdk/host'
import type { StatementCheck, Storage } from '@mortise/storage'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import type { TokenVerifier } from '../callers/token-verifier.ts'
import { append } from '../events/audit-trail.ts'
import type { EventLog } from '../events/event-log.ts'
import { operationIdOf } from '../http/operation-id.ts'
import type { ClaimHandlers } from '../requests/claim-handlers.ts'
import { sendDeclared } from '../requests/transaction.ts'
import type { Background } from './background.ts'
import type { ContractBoard } from './contract-registry.ts'
import { withLocation } from './error-location.ts'
import type { EventTypes } from './event-types.ts'
import { everyMinute } from './every-minute.ts'
import { type LoadedModule, ModuleError } from './host-module.ts'
import { checkedDatabase, ownTables, type TableOwners } from './own-tables.ts'
import { ownedPath } from './path-owners.ts'
import { refuseTransform, refuseUnsupported, refuseUnsupportedRoute } from './refuse-unsupported.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The module of a route; undefined for the host's own routes. */
    module?: string
    /** About its statements. */
    check?: StatementCheck
  }
}

/** What a generation provides to a module. */
export interface ModuleEnvironment {
  readonly database: Database
  readonly contracts: ContractBoard
  readonly claims: ClaimHandlers
  readonly events: EventLog
  readonly eventTypes: EventTypes
  readonly background: Background
  /** The route of each operationId so far; undefined if it does not matter: see `HostOptions`. */
  readonly operations: Map<string, string> | undefined
  /** The owner of each path so far: see `ownedPath`. */
  readonly paths: Map<string, string>
  readonly tables: TableOwners
  readonly guard: Storage['guard']
  readonly retiring: AbortSignal
  readonly operator: Operator
  readonly tokens: Pick<TokenVerifier, 'trusts'>
  /** See `HostOptions`. */
  readonly strict?: boolean | undefined
}

/**
 * Registers one module in a scope of its own and enforces its manifest: it registers exactly the
 * routes that it declares. After a failure the whole instance must be dropped, because Fastify
 * keeps half-registered routes.
 *
 * @returns the access of its routes
 * @throws {ModuleError}
 */
export async function registerModule(
  app: FastifyInstance,
  module: LoadedModule,
  environment: ModuleEnvironment,
): Promise<ReadonlyMap<string, Access>> {
  const { id, manifest, plugin, settings, directory } = module
  const registered = new Map<string, Access>()
  const minutely = new Set<string>()
  const check = ownTables(id, await environment.guard(manifest.tables), environment.tables)
  claimPaths(module, environment.paths)
  try {
    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        for (const method of methodsOf(route)) {
          const name = `${method} ${route.url.slice(scope.prefix.length) || '/'}`
          if (!manifest.routes.includes(name)) {
            throw new ModuleError(id, `it registers ${name}, which its manifest does not declare`)
          }
          registered.set(name, route.config?.access as Access)
        }
        refuseUnsupportedRoute(route, id)
        if (environment.operations !== undefined)
          claimOperation(route, id, scope.prefix, environment.operations)
        if (environment.strict && route.schema?.response === undefined) {
          throw new ModuleError(
            id,
            `its route ${[route.method].flat().join(', ')} ${route.url} has no response schema: add schema: ` +
              '{ response: { 200: … } } with every status that it returns',
          )
        }
        const { ifMatch, ...config } = (route.config ?? {}) as FastifyContextConfig
        route.config = { ...config, module: id, check }
        if (ifMatch) route.config.ifMatch = { ...ifMatch, find: check.of(ifMatch.find) }
        route.onSend = [sendDeclared, ...[route.onSend ?? []].flat()] as RouteOptions['onSend'] & {}
      })
      const events = eventsFor(environment.events, scope)
      const context: ModuleContext = {
        settings,
        log: scope.log.child({ module: id }),
        database: checkedDatabase(environment.database, check),
        contracts: environment.contracts.registryFor(manifest, check),
        audit: (entry) => append(entry, `module:${id}`, null),
        trusts: (proof) => environment.tokens.trusts(proof),
        onClaim(take) {
          environment.claims.add(id, check.of(take))
          everyMinute(scope, environment.database, `host/claims of ${id}`, () =>
            environment.claims.transferLate(id),
          )
        },
        everyMinute(name, work) {
          if (minutely.has(name)) throw new ModuleError(id, `it has two everyMinute tasks named "${name}"`)
          minutely.add(name)
          if (isServing(module)) everyMinute(scope, environment.database, `${id}/${name}`, check.of(work))
        },
        work: <Data>(name: string, options: WorkOptions<Data>, perform: Perform<Data>) => {
          const { onFailed, ...rest } = options as WorkOptions
          const checked = onFailed ? { ...rest, onFailed: check.of(onFailed) } : rest
          return environment.background.work(id, name, checked, perform as Perform<unknown>)
        },
        on: (type, react) => environment.background.on(manifest, type, check.of(react as React)),
        get events() {
          if (manifest.listensTo?.includes('*')) return events
          throw new ModuleError(
            id,
            'it reads the events of all modules, so its manifest needs "listensTo": ["*"]',
          )
        },
        get operator() {
          if (manifest.operator === true) return environment.operator
          throw new ModuleError(id, 'it operates the application, so its manifest needs "operator": true')
        },
        eventTypes: { has: (type) => environment.eventTypes.has(type) },
        retiring: environment.retiring,
        isServing: isServing(module),
      }
      const { settings: declaredSettings, events: declaredEvents = {} } = declarationOf(plugin) ?? {}
      refuseTransform(declaredSettings, id, 'its schema of settings')
      refuseTransform(declaredEvents, id, 'its schema of an event')
      environment.eventTypes.add(manifest, declaredEvents)
      const refuseLate = refuseUnsupported(scope, id)
      await scope.register(plugin as never, context)
      refuseLate()
    })
  } catch (error) {
    const reason = withLocation(error, directory)
    throw new ModuleError(id, error instanceof ModuleError ? reason : `registering it failed: ${reason}`, {
      cause: error,
    })
  }
  const { eventTypes, background } = environment
  const refuseIf = (missing: readonly string[], reason: (names: string) => string) => {
    if (missing.length > 0) throw new ModuleError(id, `its manifest ${reason(missing.join(', '))}`)
  }
  refuseIf(
    manifest.routes.filter((route) => !registered.has(route)),
    (names) => `declares ${names}, which it does not register`,
  )
  refuseIf(
    (manifest.events ?? []).filter((type) => !eventTypes.has(type)),
    (names) => `declares the events ${names}, which it does not emit`,
  )
  refuseIf(background.missing(manifest), (names) => `names ${names} in "listensTo", but it has no handler`)
  return registered
}

/** Nobody adds to the paths of another module, or stands in front of its routes. */
function claimPaths({ id, manifest }: LoadedModule, paths: Map<string, string>): void {
  for (const route of manifest.routes) {
    const path = ownedPath(route)
    const owner = paths.get(path) ?? id
    if (owner !== id)
      throw new ModuleError(
        id,
        `its route ${route} lies below ${path}, which belongs to ${owner}: use another path`,
      )
    paths.set(path, id)
  }
}

/** Clients and tools have one function for each operationId. */
function claimOperation(
  route: RouteOptions,
  id: string,
  prefix: string,
  operations: Map<string, string>,
): void {
  if (route.schema?.hide === true || route.method === 'HEAD') return
  const operation = operationIdOf(route, prefix)
  const name = `${route.method} ${route.url.slice(prefix.length)}`
  const other = operations.get(operation)
  if (other !== undefined)
    throw new ModuleError(
      id,
      `its route ${name} has the operationId ${operation}, as ${other} has: give it another one in its schema, by operationId`,
    )
  operations.set(operation, `${name} of ${id}`)
}

/** The events for one module: all its listeners end with its scope. */
function eventsFor(events: EventLog, scope: FastifyInstance): EventReader {
  const listening = new Set<() => void>()
  scope.addHook('onClose', async () => {
    for (const end of listening) end()
  })
  return {
    read: (query) => events.read(query),
    last: () => events.last(),
    newest: (owner) => events.newest(owner),
    find: (id, owner) => events.find(id, owner),
    onMore(listener) {
      const ignore = events.onMore(listener)
      const end = () => {
        ignore()
        listening.delete(end)
      }
      listening.add(end)
      return end
    },
  }
}

/** The methods of a route, without the HEAD that Fastify adds to a GET. */
export function methodsOf({ method }: RouteOptions): string[] {
  return [method].flat().filter((name) => name !== 'HEAD')
}
