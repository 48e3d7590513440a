import { DatabaseError, Problem } from '@mortise/module-sdk'
import { BODY_LIMIT } from './discard-body.ts'
import { type Form, mediaTypeOf } from './form-schema.ts'
import { hostProblems, invalidRequest } from './problems.ts'
import { statusProblem } from './status-problem.ts'

type Code = Parameters<typeof hostProblems.create>[0]

/**
 * The problem that a caller sees for an error. For server errors it contains no details.
 * @param replyStatus the status that the route has set
 * @param route what bodies it takes
 */
export function toProblem(
  error: unknown,
  replyStatus?: number,
  { bodyLimit = BODY_LIMIT, config = {} }: Partial<Route> = {},
): Problem {
  if (error instanceof Problem) return error
  if (error instanceof DatabaseError && error.kind === 'held') return writesHeld(error)
  const known = error instanceof DatabaseError ? databaseProblems[error.kind] : undefined
  if (known) {
    const [code, detail, seconds] = known
    const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': seconds }
    return hostProblems.create(code, detail, { cause: error, headers })
  }
  const {
    code,
    statusCode = 0,
    message,
  } = (error ?? {}) as {
    code?: unknown
    statusCode?: number
    message?: string
  }
  // Fastify's own errors, and a client that disconnected during its body.
  const isFastifys = typeof code === 'string' && (code.startsWith('FST_ERR_') || code === 'ECONNRESET')
  if (isFastifys && statusCode >= 400 && statusCode < 500) {
    if (statusCode === 413) return hostProblems.create('payload-too-large', tooLarge(bodyLimit))
    if (statusCode === 415) {
      return hostProblems.create(
        'unsupported-media-type',
        `Send the body as ${mediaTypeOf(config.form)} in UTF-8.`,
      )
    }
    const part = { pointer: '', detail: message ?? 'cannot be read' }
    return invalidRequest('The body cannot be read; see errors.', [part], { cause: error })
  }
  const ofStatus = error instanceof DatabaseError ? undefined : statusProblem(error, replyStatus)
  return (
    ofStatus ??
    hostProblems.create(
      'internal-error',
      'The server failed to respond to this request. Try again later; if it still fails, report the requestId.',
      { cause: error },
    )
  )
}

interface Route {
  readonly bodyLimit: number
  readonly config: { readonly form?: Form }
}

const tooLarge = (limit: number) => {
  const size = limit % 1024 === 0 ? `${limit / 1024} KiB` : `${limit} bytes`
  return `The body is larger than ${size}: send a smaller one.`
}

/** The reason is the host's own. */
function writesHeld(error: DatabaseError): Problem {
  const { message, retryAfter } = error
  const when = retryAfter === undefined ? '' : ` in about ${retryAfter} s`
  const reason = `${message.charAt(0).toUpperCase()}${message.slice(1)}`
  return hostProblems.create(
    'busy',
    `${reason}: writes are refused, and nothing was changed. Reads continue. Try again${when}.`,
    { cause: error, headers: { 'retry-after': String(retryAfter ?? 5) } },
  )
}

/** Database errors with a problem of their own, and the seconds after which to try again. */
const databaseProblems: Partial<
  Record<DatabaseError['kind'], readonly [Code, detail: string, seconds?: string]>
> = {
  busy: ['busy', 'The server has too many concurrent writes; nothing was changed. Try again.', '1'],
  'too-long': [
    'busy',
    'The server has searched for as long as one request may, and found too little; nothing was changed. Send other filters, or try again later.',
    '5',
  ],
  full: [
    'storage-full',
    'The server has no free disk space; nothing was changed. Reads continue. Try again later.',
    '5',
  ],
  unavailable: [
    'database-unavailable',
    'The server cannot reach the database; nothing was changed. Try again.',
    '1',
  ],
  'unknown-outcome': [
    'outcome-unknown',
    'The database failed during the commit, so the change may have happened. Repeat the request with the same Idempotency-Key; without a key, check first.',
  ],
}
