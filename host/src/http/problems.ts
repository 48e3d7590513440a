import { defineProblems } from '@mortise/module-sdk'

/** The host's own failures: every one that is not a module's. */
export const hostProblems = defineProblems('host', {
  'invalid-request': { status: 400, title: 'The request is invalid' },
  unauthorized: { status: 401, title: 'Valid credentials are needed' },
  'insufficient-scope': { status: 403, title: 'The token lacks a scope' },
  'not-found': { status: 404, title: 'There is nothing here' },
  'guest-not-found': { status: 404, title: 'There is no such guest' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'idempotency-running': { status: 409, title: 'The same request is being worked on' },
  'precondition-failed': { status: 412, title: 'The resource has changed' },
  'payload-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The body is not JSON' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'idempotency-mismatch': { status: 422, title: 'The key was used for another request' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  'header-fields-too-large': { status: 431, title: 'The request head is too large' },
  'internal-error': { status: 500, title: 'The server failed' },
  'outcome-unknown': { status: 500, title: 'It is not known whether it was done' },
  busy: { status: 503, title: 'The server is busy' },
  'database-unavailable': { status: 503, title: 'The database cannot be reached' },
  'not-ready': { status: 503, title: 'The server is not ready' },
  'issuer-unavailable': { status: 503, title: 'The issuer of the token cannot be asked' },
  'storage-full': { status: 503, title: 'Nothing can be saved' },
  'module-unavailable': { status: 503, title: 'The module is not available' },
})
