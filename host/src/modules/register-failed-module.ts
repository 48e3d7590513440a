import type { FastifyInstance, HTTPMethods } from 'fastify'
import { hostProblems } from '../http/problems.ts'
import type { FailedModule, QuarantinedModule } from './host-module.ts'

/** For every caller. A path that an active module has taken stays with that module. */
export function registerFailedModule(app: FastifyInstance, module: FailedModule | QuarantinedModule): void {
  const { id, manifest, reason } = module
  app.log.error({ module: id, reason }, `${id} is not available`)
  const refuse = async () => {
    throw module.state === 'quarantined'
      ? hostProblems.create(
          'module-quarantined',
          `The host has paused ${id}, since ${reason}. To end it, the operator runs: app module-enable ${id}`,
        )
      : hostProblems.create('module-unavailable', `${id} is installed but could not be activated.`)
  }
  for (const route of manifest.routes) {
    const [method, url] = route.split(' ') as [HTTPMethods, string]
    if (app.hasRoute({ method, url: app.prefix + url })) continue
    app.route({
      method,
      url,
      config: { access: 'public', module: id },
      schema: { hide: true },
      onRequest: refuse,
      handler: refuse,
    })
  }
}
