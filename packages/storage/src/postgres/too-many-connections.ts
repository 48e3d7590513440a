import { DatabaseError as ServerError } from 'pg'

/** SQLSTATEs of too many connections: of the server, and of some poolers. */
const FULL = ['53300', '53400']
/** Older poolers report it only in the message. */
const FULL_WORDS = /no more connections allowed|too many (clients|connections)/
/** From a server that is starting or stopping. */
const CANNOT_CONNECT_NOW = '57P03'

/** Whether a connection was refused because there are too many. */
export const isFull = (error: unknown) =>
  someOf(error, ({ code = '', message }) => FULL.includes(code) || FULL_WORDS.test(message))

/** Whether a connection was refused by a server that may still serve the open ones. */
export const isTooManyConnections = (error: unknown) =>
  isFull(error) || someOf(error, ({ code }) => code === CANNOT_CONNECT_NOW)

/** With several servers each has an error of its own. */
function someOf(error: unknown, is: (error: ServerError) => boolean): boolean {
  if (error instanceof AggregateError) return error.errors.some((each) => someOf(each, is))
  return error instanceof ServerError && is(error)
}
