import type { Audit } from '@mortise/module-sdk'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { append } from './audit-trail.ts'

/** Provides `request.audit`. */
export const requestAudit = fp(
  async (app) => {
    app.decorateRequest('audit', { getter: auditOf } as never)
  },
  { name: 'request-audit', fastify: '5.x', dependencies: ['callers'] },
)

function auditOf(this: FastifyRequest): Audit {
  const { caller, id } = this
  return (entry) => append(entry, caller.id, id)
}
