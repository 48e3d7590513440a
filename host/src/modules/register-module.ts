import type { Access, Database, ModuleContext } from '@mortise/module-sdk'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { append } from '../audit/audit-trail.ts'
import type { Claims } from '../callers/claims.ts'
import type { ContractBoard } from './contract-registry.ts'
import { everyMinute } from './every-minute.ts'
import { type ActiveModule, ModuleError } from './host-module.ts'
import { withPlace } from './place-of.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The module that a route belongs to; the host's own have none. */
    module?: string
  }
}

/**
 * Registers one module in a scope of its own, and holds it to its manifest: it registers all routes that it
 * declares and no other. The instance is unusable after a failure and must be dropped as a whole: Fastify
 * keeps half-registered routes.
 *
 * @returns who may use its routes
 * @throws {ModuleError}
 */
export async function registerModule(
  app: FastifyInstance,
  module: ActiveModule,
  lent: { readonly database: Database; readonly contracts: ContractBoard; readonly claims: Claims },
): Promise<ReadonlyMap<string, Access>> {
  const { id, manifest, plugin, settings, directory } = module
  const registered = new Map<string, Access>()
  const works = new Set<string>()
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
        route.config = { ...route.config, module: id }
      })
      const context: ModuleContext = {
        settings,
        log: scope.log.child({ module: id }),
        database: lent.database,
        contracts: lent.contracts.registryFor(manifest),
        audit: (entry) => append(entry, `module:${id}`, null),
        onClaim(take) {
          lent.claims.add(id, take)
          everyMinute(scope, lent.database, `host/claims of ${id}`, () => lent.claims.handOverLate(id))
        },
        everyMinute(name, work) {
          if (works.has(name)) throw new ModuleError(id, `it has two works for every minute named "${name}"`)
          works.add(name)
          everyMinute(scope, lent.database, `${id}/${name}`, work)
        },
      }
      await scope.register(plugin as never, context)
    })
  } catch (error) {
    const reason = withPlace(error, directory)
    throw new ModuleError(id, error instanceof ModuleError ? reason : `registering it failed: ${reason}`, {
      cause: error,
    })
  }
  const missing = manifest.routes.filter((route) => !registered.has(route))
  if (missing.length > 0) {
    throw new ModuleError(id, `its manifest declares ${missing.join(', ')}, which it does not register`)
  }
  return registered
}

/** The methods of a route, without the HEAD that Fastify adds to a GET. */
function methodsOf({ method }: RouteOptions): string[] {
  return [method].flat().filter((name) => name !== 'HEAD')
}
