import { DatabaseError, Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

/** The problem that a caller sees for an error. For server errors it contains no details. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof DatabaseError) {
    const problem = databaseProblem(error)
    if (problem) return problem
  }
  const { code, statusCode, message } = (error ?? {}) as {
    code?: unknown
    statusCode?: unknown
    message?: string
  }
  // Fastify's own errors, and a client that disconnected during its body.
  const isFastifys = typeof code === 'string' && (code.startsWith('FST_') || code === 'ECONNRESET')
  if (isFastifys && isClientError(statusCode)) {
    if (statusCode === 413) {
      return hostProblems.create('payload-too-large', 'The body is larger than 384 KiB: send a smaller one.')
    }
    if (statusCode === 415) {
      return hostProblems.create('unsupported-media-type', 'Send the body as application/json in UTF-8.')
    }
    const detail = message ?? 'cannot be read'
    return hostProblems.create('invalid-request', 'The body cannot be read; see errors.', {
      cause: error,
      members: { errors: [{ pointer: '', detail }] },
    })
  }
  return hostProblems.create(
    'internal-error',
    'The server failed to answer this request. Try again later; if it still fails, report the requestId.',
    { cause: error },
  )
}

/** Database errors with a problem of their own. */
function databaseProblem(cause: DatabaseError): Problem | undefined {
  const soon = { cause, headers: { 'retry-after': '1' } }
  switch (cause.kind) {
    case 'busy':
      return hostProblems.create(
        'busy',
        'The server has too many concurrent writes; nothing was changed. Try again.',
        soon,
      )
    case 'full':
      return hostProblems.create(
        'storage-full',
        'The server has no free disk space; nothing was changed. Reads continue. Try again later.',
        { cause, headers: { 'retry-after': '5' } },
      )
    case 'held':
      return hostProblems.create(
        'busy',
        'The data move to another database; nothing was changed. Try again.',
        { cause, headers: { 'retry-after': '5' } },
      )
    case 'unavailable':
      return hostProblems.create(
        'database-unavailable',
        'The server cannot reach the database; nothing was changed. Try again.',
        soon,
      )
    case 'unknown-outcome':
      return hostProblems.create(
        'outcome-unknown',
        'The database failed during the commit, so the change may have happened. Repeat the request with the same Idempotency-Key; without a key, check first.',
        { cause },
      )
  }
  return undefined
}

function isClientError(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500
}
