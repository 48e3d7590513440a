import { DatabaseError, isLoggedElsewhere, Problem } from '@mortise/module-sdk'
import { ProblemDetails } from '@mortise/module-sdk/host'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyContextConfig, FastifyReply, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { LogThrottle } from '../telemetry/log-throttle.ts'
import { routeOf } from '../telemetry/request-log.ts'
import { http } from './node-http.ts'
import { writeProblem } from './send-problem.ts'
import { toProblem } from './to-problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The problem responses of the route, by status: for the OpenAPI document alone. */
    problems?: Readonly<Record<string, TSchema>>
  }
  interface FastifyRequest {
    /** The code of the thrown problem. */
    problem: string | undefined
  }
  interface FastifyReply {
    /**
     * The refusal has a log line of its own elsewhere (for example, writes are paused), so the
     * request is not logged.
     */
    refused?: boolean
  }
}

/**
 * Responds to every error of a request with problem details (RFC 9457), and logs the server's own
 * errors.
 */
export const problemDetails = fp(async (app) => {
  const alike = new LogThrottle((line) => app.log.error(line, 'more requests failed at the same route'))
  app.addHook('onClose', async () => alike.close())
  app.addSchema(ProblemDetails)
  app.decorateReply('refused', false)
  app.decorateRequest('problem', undefined)
  app.addHook('onRoute', setProblemsAside)
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, reply.statusCode, request.routeOptions)
    request.problem = problem.code
    reply.refused ||= isLoggedElsewhere(problem.cause)
    if (isUnexpected(error, problem)) {
      const line = { ...routeOf(request), err: error }
      if (alike.admits(String(line.route), line)) request.log.error(line, 'a request failed')
    }
    // RFC 9110, 15.5.2: a plugin that checks credentials of its own may not say which.
    if (problem.status === 401 && !reply.hasHeader('www-authenticate'))
      reply.header('www-authenticate', 'Bearer')
    const body = writeProblem(problem, reply)
    dropUnsendable(reply)
    return reply.send(body)
  })
})

/** With a header that Node refuses, the problem would fail as the response before it did. */
function dropUnsendable(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      http.validateHeaderName(name)
      for (const one of [value].flat()) http.validateHeaderValue(name, one as string)
    } catch {
      reply.removeHeader(name)
    }
  }
}

/** A server error that is neither thrown on purpose nor one of the database, which logs its own. */
const isUnexpected = (error: unknown, { code, status }: Problem) =>
  code === 'internal-error' ||
  (status >= 500 && !(error instanceof Problem) && !(error instanceof DatabaseError))

/**
 * Keeps the response schemas of problems from being compiled: they serialize nothing and took three
 * quarters of the time to build an instance.
 */
function setProblemsAside(route: RouteOptions): void {
  const { problems, others = [] } = Object.groupBy(
    Object.entries((route.schema?.response ?? {}) as Record<string, TSchema>),
    ([, { content }]) => (content?.['application/problem+json'] ? 'problems' : 'others'),
  )
  if (problems === undefined) return
  route.config = { ...(route.config as FastifyContextConfig), problems: Object.fromEntries(problems) }
  route.schema = { ...route.schema, response: Object.fromEntries(others) }
}
