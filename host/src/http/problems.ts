import type { InvalidPart, Problem, ProblemOptions } from '@mortise/module-sdk'
import { commonProblems, defineProblems } from '@mortise/module-sdk/host'

/** The host's own problems, and those that modules share with it. */
export const hostProblems = defineProblems('host', {
  ...commonProblems.definitions,
  unauthorized: { status: 401, title: 'Authentication required' },
  'cross-site': { status: 403, title: 'Cross-site request refused' },
  'not-found': { status: 404, title: 'Not found', detail: 'No resource has this path.' },
  'guest-not-found': {
    status: 404,
    title: 'Guest not found',
    detail:
      'You cannot claim a guest with this token: the token is unknown or expired, or another user claimed the guest.',
  },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    detail: 'The request did not arrive in time: send it again.',
  },
  'idempotency-running': { status: 409, title: 'A request with this key is in progress' },
  'precondition-failed': { status: 412, title: 'The resource has changed' },
  'payload-too-large': {
    status: 413,
    title: 'The body is too large',
    detail: 'The body is larger than 384 KiB: send a smaller one.',
  },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'expectation-failed': {
    status: 417,
    title: 'Expectation failed',
    detail: 'The server supports only the expectation 100-continue.',
  },
  'idempotency-mismatch': { status: 422, title: 'The key was used for another request' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  'header-fields-too-large': {
    status: 431,
    title: 'The request headers are too large',
    detail: 'Path, query and headers together exceed 8 KiB: send less.',
  },
  'internal-error': { status: 500, title: 'Internal server error' },
  'outcome-unknown': { status: 500, title: 'The outcome is unknown' },
  'unsupported-transfer-encoding': {
    status: 501,
    title: 'Transfer encoding not supported',
    detail:
      'The server supports only the Transfer-Encoding chunked; nothing was done. Send the body chunked or with a Content-Length.',
  },
  busy: { status: 503, title: 'The server is busy' },
  'database-unavailable': { status: 503, title: 'The database is unavailable' },
  'not-ready': { status: 503, title: 'The server is not ready' },
  'issuer-unavailable': { status: 503, title: 'The token issuer is unavailable' },
  'storage-full': { status: 503, title: 'Storage full' },
  'module-paused': { status: 503, title: 'The module is paused' },
  'module-quarantined': { status: 503, title: 'The module is in quarantine' },
  'module-unavailable': { status: 503, title: 'The module is unavailable' },
  'http-version-not-supported': {
    status: 505,
    title: 'HTTP version not supported',
    detail: 'The server supports HTTP/1.1 and HTTP/1.0.',
  },
})

/** 400 for the parts of a request that `errors` names. */
export const invalidRequest = (
  detail: string,
  errors: readonly InvalidPart[],
  options?: ProblemOptions,
): Problem => hostProblems.create('invalid-request', detail, { ...options, members: { errors } })
