import type { Access } from '@mortise/module-sdk'
import fp from 'fastify-plugin'

// Default-deny: a route that does not declare its access is not registered. Neither is one with an
// empty string, an empty list or an unknown form.

const forms = /^(public|caller|admin|[a-z][a-z0-9-]*:[a-z][a-z0-9-]*)$/

/** Whether `access` is a form that the host enforces. */
export const isAccess = (access: unknown): access is Access =>
  typeof access === 'string' && forms.test(access)

/** Throws from the registration of a route without a valid `config.access`. */
export const accessRules = fp(async (app) => {
  app.addHook('onRoute', ({ method, url, config }) => {
    const access: unknown = config?.access
    if (isAccess(access)) return
    const fault = access === undefined ? 'has no access' : `has the unknown access ${JSON.stringify(access)}`
    throw new Error(
      `the route ${[method].flat().join(', ')} ${url} ${fault}: write config: { access: 'caller' }, or ` +
        "'public', 'admin' or a scope such as 'cart:manage'",
    )
  })
})
