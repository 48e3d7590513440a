import { TransformKind } from '@sinclair/typebox'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ModuleError } from './host-module.ts'

// What Fastify offers and the host's rules would silently undo is refused when a module registers.

/** What a module calls instead of each of these methods of its instance. */
const refusedMethods = {
  setErrorHandler: 'every failure is a problem: throw problem(…) of defineModule',
  setNotFoundHandler: 'the host responds to unknown paths of all modules',
  setValidatorCompiler:
    "the host validates by the route's JSON Schema: check the rest in the handler, with invalidRequest(…)",
} as const

/** @returns a check for after the registration */
export function refuseUnsupported(scope: FastifyInstance, id: string): () => void {
  for (const [method, instead] of Object.entries(refusedMethods)) {
    Object.defineProperty(scope, method, {
      value() {
        throw new ModuleError(id, `it calls ${method}, and ${instead}`)
      },
    })
  }
  const upgrades = scope.server.listenerCount('upgrade')
  return () => {
    if (scope.server.listenerCount('upgrade') > upgrades) throw new ModuleError(id, noWebSocket)
  }
}

const noWebSocket =
  'it takes WebSockets, which end with each change of what is installed: send events as text/event-stream instead'

/** @throws {ModuleError} */
export function refuseUnsupportedRoute(route: RouteOptions, id: string): void {
  const name = `its route ${[route.method].flat().join(', ')} ${route.url}`
  if ('websocket' in route) throw new ModuleError(id, noWebSocket)
  if (route.validatorCompiler) {
    throw new ModuleError(id, `${name} has a validatorCompiler, and ${refusedMethods.setValidatorCompiler}`)
  }
  refuseTransform(route.schema, id, name)
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
