import type { Access } from '@mortise/module-sdk'
import fp from 'fastify-plugin'

// Default-deny: a route that does not say who may use it is not registered, and neither is one that says it
// with nothing (an empty string, an empty list) or in words that nobody checks.

const scope = /^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$/

/** Whether `access` is one of the forms that the host enforces. */
export function isAccess(access: unknown): access is Access {
  if (typeof access !== 'string') return false
  return access === 'public' || access === 'caller' || access === 'admin' || scope.test(access)
}

/**
 * Refuses every route without a valid `config.access`, by throwing out of the call that registers it:
 * within a module that fails the module's load. The HEAD that comes with a GET has the GET's access.
 */
export const accessRules = fp(
  async (app) => {
    app.addHook('onRoute', ({ method, url, config }) => {
      const access: unknown = config?.access
      if (isAccess(access)) return
      const fault =
        access === undefined ? 'states no access' : `has no such access as ${JSON.stringify(access)}`
      throw new Error(
        `the route ${[method].flat().join(', ')} ${url} ${fault}: write config: { access: 'caller' }, or ` +
          "'public', 'admin' or a scope such as 'cart:manage'",
      )
    })
  },
  { name: 'access-rules', fastify: '5.x' },
)
