import type { Database, EventLog, ModuleContext, Operator } from '@mortise/module-sdk'
import { declarationOf } from '@mortise/module-sdk/host'
import { Value } from '@sinclair/typebox/value'
import fastify from 'fastify'
import { accessRules } from '../callers/access.ts'
import { withLocation } from './error-location.ts'
import { ModuleError } from './host-module.ts'
import { loadPlugin } from './load-plugin.ts'
import { hostPaths, ownedPath } from './path-owners.ts'
import { refuseUnsupported, refuseUnsupportedRoute } from './refuse-unsupported.ts'
import { methodsOf } from './register-module.ts'

export interface ObservedModule {
  readonly id: string
  readonly routes: readonly string[]
  readonly events: readonly string[]
  readonly provides: Readonly<Record<string, string>>
  readonly listensTo: readonly string[]
  readonly operator: true | undefined
  /** The JSON Schema of its settings; undefined without settings. */
  readonly config: Readonly<Record<string, unknown>> | undefined
}

/**
 * Loads the package in `directory` and registers its module without a database and other modules;
 * settings have their defaults.
 *
 * @param name the name of the module until its id is known
 * @param requires its required contracts: the module gets an empty object for each
 * @param options see `providePeers`
 * @throws {ModuleError}
 */
export async function observeModule(
  directory: string,
  name: string,
  requires: readonly string[],
  options: { readonly confined: boolean } = { confined: false },
): Promise<ObservedModule> {
  const plugin = await loadPlugin(name, directory, options)
  const declared = declarationOf(plugin)
  if (declared === undefined)
    throw new ModuleError(name, 'its default export does not come from defineModule')
  const { id, settings, events = {} } = declared
  const routes: string[] = []
  const provides: Record<string, string> = {}
  const listensTo = new Set<string>()
  let operator: true | undefined
  const context: ModuleContext = {
    settings: (settings === undefined ? {} : Value.Default(settings, {})) as ModuleContext['settings'],
    log: fastify({ logger: false }).log,
    database: nothing as Database,
    contracts: {
      provide(contract: string, version: string) {
        provides[contract] = version
      },
      get: (contract: string) => (requires.includes(contract) ? {} : undefined) as never,
      required: () => ({}) as never,
    },
    audit: function* () {},
    trusts: absent,
    onClaim: () => {},
    everyMinute: () => {},
    work: () => ({ add: absent as never }),
    on: (type) => listensTo.add(type),
    get events() {
      listensTo.add('*')
      return { ...nothing, onMore: () => () => {} } as EventLog
    },
    get operator() {
      operator = true
      const calls = {
        signIn: absent,
        call: absent,
        run: absent,
        read: absent,
        metrics: absent,
      }
      return { ...calls, isPrivate: false } as Operator
    },
    eventTypes: { has: () => false },
    retiring: new AbortController().signal,
    isServing: true,
  }
  const app = fastify()
  // What a registration refuses is in no manifest.
  await app.register(accessRules)
  app.addHook('onRoute', (route) => {
    for (const method of methodsOf(route)) routes.push(`${method} ${route.url}`)
    refuseUnsupportedRoute(route, id)
  })
  const refuseLate = refuseUnsupported(app, id)
  try {
    await app.register(plugin as never, context)
  } catch (error) {
    throw new ModuleError(id, withLocation(error, directory), { cause: error })
  }
  refuseLate()
  const hosts = routes.find((route) => hostPaths.includes(ownedPath(route)))
  if (hosts !== undefined)
    throw new ModuleError(
      id,
      `its route ${hosts} lies below ${ownedPath(hosts)}, which belongs to the host: use another path`,
    )
  const config = settings && JSON.parse(JSON.stringify(settings))
  return { id, routes, events: Object.keys(events), provides, listensTo: [...listensTo], operator, config }
}

const absent = async () => {
  throw new Error('it reads or writes during registration: wait until it serves')
}

/** A database and an event log that fail on every use. */
const nothing = {
  many: absent,
  maybeOne: absent,
  one: absent,
  snapshot: absent,
  transaction: absent,
  read: absent,
  last: absent,
  newest: absent,
  find: absent,
}
