import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '@mortise/module-sdk'
import { requestId } from './request-id.ts'
import { constantHeaders } from './security-headers.ts'

/** Answers a request that never reaches Fastify, and closes its connection: its body is not read. */
export function respondProblem(problem: Problem, request: IncomingMessage, response: ServerResponse): void {
  const id = requestId(request)
  const body = Buffer.from(JSON.stringify(problem.toDetails(id)))
  response.writeHead(problem.status, {
    'content-type': 'application/problem+json',
    'content-length': body.length,
    'request-id': id,
    connection: 'close',
    ...constantHeaders,
  })
  response.end(body)
}
