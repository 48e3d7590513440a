import { TransformKind } from '@sinclair/typebox'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { formFault } from '../http/form-schema.ts'
import { ModuleError } from './host-module.ts'

// What Fastify offers and the host's rules would silently undo is refused when a module registers.

/** What a module calls instead of each of these methods of its instance. */
const refusedMethods = {
  setErrorHandler: 'every failure is a problem: throw problem(…) of defineModule',
  setNotFoundHandler: 'the host responds to unknown paths of all modules',
  setValidatorCompiler:
    "the host validates by the route's JSON Schema: check the rest in the handler, with invalidRequest(…); " +
    'a schema of zod becomes one by z.toJSONSchema(…), without fastify-type-provider-zod',
} as const

const noWebSocket =
  'WebSockets end with each change of what is installed: send events as text/event-stream instead'

/** Why a module cannot have each of these plugins, and what it does instead. */
const refusedPlugins: Readonly<Record<string, string>> = {
  '@fastify/cookie':
    'the host reads the cookies of its guests: parse the header "cookie", and send "set-cookie" with the package "cookie"',
  '@fastify/cors': 'the host responds to preflight requests for all modules: the operator sets cors.origins',
  '@fastify/helmet':
    'the host sets the security headers of every response: change one with reply.header(…) in the route',
  '@fastify/caching':
    'the host sets ETag, and no-store for what is not public: send cache-control with reply.header(…) in a public route',
  '@fastify/http-proxy':
    'the host validates and documents each route: write the routes, and send their requests with fetch',
  '@fastify/websocket': noWebSocket,
}

/** @returns a check for after the registration */
export function refuseUnsupported(scope: FastifyInstance, id: string): () => void {
  for (const [method, instead] of Object.entries(refusedMethods)) {
    Object.defineProperty(scope, method, {
      value() {
        throw new ModuleError(id, `it calls ${method}, and ${instead}`)
      },
    })
  }
  refusePlugins(scope, id)
  const upgrades = scope.server.listenerCount('upgrade')
  return () => {
    if (scope.server.listenerCount('upgrade') > upgrades)
      throw new ModuleError(id, `it takes WebSockets, and ${noWebSocket}`)
  }
}

/** What `fastify-plugin` notes about a plugin. */
const kMeta = Symbol.for('plugin-meta')

function refusePlugins(scope: FastifyInstance, id: string): void {
  const { register } = scope
  const check = <Plugin>(plugin: Plugin): Plugin => {
    const { [kMeta]: meta } = (plugin ?? {}) as { readonly [kMeta]?: { readonly name?: string } }
    const name = meta?.name ?? ''
    if (Object.hasOwn(refusedPlugins, name))
      throw new ModuleError(id, `it registers ${name}, and ${refusedPlugins[name]}`)
    return plugin
  }
  Object.defineProperty(scope, 'register', {
    value(this: FastifyInstance, plugin: unknown, options: unknown) {
      const checked =
        plugin instanceof Promise
          ? plugin.then((loaded) => {
              check(loaded.default ?? loaded)
              return loaded
            })
          : check(plugin)
      return register.call(this, checked as never, options as never)
    },
  })
}

/** @throws {ModuleError} */
export function refuseUnsupportedRoute(route: RouteOptions, id: string): void {
  const name = `its route ${[route.method].flat().join(', ')} ${route.url}`
  if ('websocket' in route) throw new ModuleError(id, `${name} takes WebSockets, and ${noWebSocket}`)
  if (route.validatorCompiler) {
    throw new ModuleError(id, `${name} has a validatorCompiler, and ${refusedMethods.setValidatorCompiler}`)
  }
  if (route.errorHandler)
    throw new ModuleError(id, `${name} has an errorHandler, and ${refusedMethods.setErrorHandler}`)
  refuseTransform(route.schema, id, name)
  const fault = formFault(route.schema?.body)
  if (fault !== undefined) throw new ModuleError(id, `${name} ${fault}`)
}

/** @throws {ModuleError} for a schema that converts values */
export function refuseTransform(schema: unknown, id: string, what: string): void {
  // Not thrown from the depth of the schema, since a stack shows ten calls, and the module's is one.
  if (!transforms(schema)) return
  throw new ModuleError(
    id,
    `${what} uses Type.Transform, which the host does not run: convert the value in your code`,
  )
}

const transforms = (schema: unknown): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  (TransformKind in schema || Object.values(schema).some(transforms))
