import { DatabaseError, type DatabaseErrorKind } from '@mortise/module-sdk/transaction'
import { DatabaseError as ServerError } from 'pg'
import { shortened } from '../port/errors.ts'

/** Nothing was committed, and a retry of the same transaction may succeed. */
export class RetriableError extends DatabaseError {
  /** Its connection is no longer usable. */
  readonly lost: boolean
  /** A prepared statement no longer fits the schema. */
  readonly stale: boolean

  constructor(kind: 'busy' | 'unavailable', message: string, cause: unknown, stale = false) {
    super(kind, message, { cause })
    this.lost = kind === 'unavailable'
    this.stale = stale
  }
}

/** The role lacks a right. */
export class DeniedError extends DatabaseError {
  constructor(message: string, cause: unknown) {
    super('other', message, { cause })
  }
}

/** It is broken, or has prepared statements that no longer fit the schema. */
export const isUseless = (error: unknown) => error instanceof RetriableError && (error.lost || error.stale)

/** By SQLSTATE. */
const KINDS: Readonly<Record<string, DatabaseErrorKind>> = {
  '23505': 'unique',
  '23503': 'foreign-key',
  '23001': 'foreign-key',
  '23514': 'check',
  '23502': 'not-null',
  // Exceeded statement_timeout or lock_timeout; too many connections.
  '57014': 'busy',
  '55P03': 'busy',
  '53300': 'busy',
  // The disk of the server is full.
  '53100': 'full',
}

/** Converts an error of the server or the driver to an engine-independent one. */
export function toDatabaseError(error: unknown, text: string): Error {
  const { message } = error as Error
  const where = `, in: ${shortened(text)}`
  if (error instanceof RangeError) return new DatabaseError('other', `${message}${where}`, { cause: error })
  if (!(error instanceof ServerError)) {
    return new RetriableError(
      'unavailable',
      `the connection to the database broke: ${message}${where}`,
      error,
    )
  }
  const { code = '' } = error
  const full = `${message} (${code})${where}`
  if (code === '40001' || code === '40P01') return new RetriableError('busy', full, error)
  if (isStale(error)) return new RetriableError('busy', full, error, true)
  if (isLost(error)) return new RetriableError('unavailable', full, error)
  if (code === '42601' && error.routine === 'exec_parse_message')
    return new DatabaseError('refused', full, { cause: error })
  if (code === '25006') {
    return new DatabaseError('read-only', `reads and snapshots may not write; use a transaction. ${full}`, {
      cause: error,
    })
  }
  if (code === '42501') return new DeniedError(full, error)
  return new DatabaseError(KINDS[code] ?? 'other', full, { cause: error })
}

/** A server that refuses a right statement has become a standby. */
export function toBeginError(error: unknown): Error {
  const known = toDatabaseError(error, 'BEGIN')
  if (known instanceof RetriableError) return known
  return new RetriableError('unavailable', `the server accepts no transactions: ${known.message}`, error)
}

/** The driver's message for a connection that broke before anything was sent. */
const NEVER_SENT = /\bis not queryable$/

/** Interprets a failed COMMIT. */
export function toCommitError(error: unknown): Error {
  const known = toDatabaseError(error, 'COMMIT')
  const isSent = !NEVER_SENT.test((error as Error).message)
  const isLostThere = (known instanceof RetriableError && known.lost) || isCrash(error)
  if (!(isLostThere && isSent)) return known
  return new DatabaseError(
    'unknown-outcome',
    `the connection broke during the commit, so its outcome is unknown: ${known.message}`,
    { cause: error },
  )
}

/**
 * Its plan's columns have changed, or a pooler has switched the session. By the place in the server:
 * messages are in the language of its `lc_messages`.
 */
const isStale = ({ code, routine }: ServerError) =>
  code === '26000' || (code === '0A000' && routine === 'RevalidateCachedQuery')

/** Connection errors, a shutdown or crash of the server, idle or in a transaction for too long. */
const isLost = ({ code = '' }: ServerError) =>
  code.startsWith('08') || code.startsWith('57P') || code === '25P03' || code === '25P04'

/**
 * The server could not write a commit, and crashes: out of resources, an error of its system, or one
 * of its own. The driver knows the severity in the language of the server only.
 */
const isCrash = (error: unknown) => error instanceof ServerError && /^(53|58|XX)/.test(error.code ?? '')

/** SQLSTATEs of too many connections: of the server, and of some poolers. */
const FULL = ['53300', '53400']
/** Older poolers report it only in the message. */
const FULL_WORDS = /no more connections allowed|too many (clients|connections)/
/** From a server that is starting or stopping. */
const CANNOT_CONNECT_NOW = '57P03'

/** Whether a connection was refused because there are too many. */
export const isWithoutRoom = (error: unknown) =>
  someOf(error, ({ code = '', message }) => FULL.includes(code) || FULL_WORDS.test(message))

/** Whether a connection was refused by a server that may still serve the open ones. */
export const isTooManyConnections = (error: unknown) =>
  isWithoutRoom(error) || someOf(error, ({ code }) => code === CANNOT_CONNECT_NOW)

/** Whether the server has responded, and lets this user in only after a change there or here. */
export const isRefused = (error: unknown) => someOf(error, (each) => !isTooManyConnections(each))

/** By SQLSTATE of a refused connection, where the server does not say what to do. */
const REMEDIES: Readonly<Record<string, string>> = {
  '42501': 'grant CONNECT ON DATABASE to this user',
  '3D000': 'create it, with the encoding UTF8',
}

/** What to do about a refused connection; '' if its message says it. */
export function adviceOn(error: unknown): string {
  if (isWithoutRoom(error)) return 'raise max_connections, or lower connection_limit of the hosts'
  const code = Object.keys(REMEDIES).find((each) => someOf(error, ({ code }) => code === each))
  return code === undefined ? '' : (REMEDIES[code] as string)
}

/** With several servers each has an error of its own. */
function someOf(error: unknown, is: (error: ServerError) => boolean): boolean {
  if (error instanceof AggregateError) return error.errors.some((each) => someOf(each, is))
  return error instanceof ServerError && is(error)
}
