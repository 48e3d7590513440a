import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Answer, type Database, type Transaction } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type GuestOptions, guestOf, replaceGuest, unknownGuest } from '../callers/callers.ts'
import type { Guest, Guests } from '../callers/guests.ts'
import { generatorOf } from '../storage/generator-of.ts'

// The answer to a write is decided, checked and serialized inside its transaction, so what is committed is
// what is told: nothing that can fail on the host's side comes after the commit. The generator may be run
// several times; it reads the request and leaves nothing behind but statements.

export interface TransactionOptions extends GuestOptions {
  readonly database: Database
  /** Put in front of a `location` that begins with a slash; '' for none. */
  readonly basePath: string
}

const kReply = Symbol('reply that a transaction may send')

/** Answers `request.transaction`. */
export const transaction = fp<TransactionOptions>(
  async (app, options) => {
    app.decorateRequest(kReply, null)
    app.addHook('onRequest', (request: WithReply, reply, done) => {
      request[kReply] = reply
      done()
    })
    app.decorateRequest('transaction', function (this: WithReply, steps) {
      return transact(this, steps, options)
    })
  },
  { name: 'transaction', fastify: '5.x', dependencies: ['callers'] },
)

interface WithReply extends FastifyRequest {
  /** Null while a transaction runs, and from the commit on. */
  [kReply]?: FastifyReply | null
}

type Steps = () => Transaction<Answer>

async function transact(request: WithReply, steps: Steps, options: TransactionOptions): Promise<void> {
  const { database, guests, cookie, basePath } = options
  const reply = request[kReply]
  if (!reply) throw new Error('request.transaction was called twice: one request has one answer')
  request[kReply] = null
  const guest = guestOf(request)
  let decided: Decided
  try {
    decided = await database.transaction(() => decide(reply, guest, guests, steps))
  } catch (error) {
    request[kReply] = reply
    if (!(error instanceof GuestVanished)) throw error
    if (guest?.origin === 'header') throw unknownGuest()
    // The route may know the former caller's id already, so it begins anew.
    replaceGuest(request, reply, options)
    return request.routeOptions.handler.call(request.server, request, reply) as Promise<void>
  }
  const { status, headers, text } = decided
  reply.code(status).headers(headers)
  if (text !== undefined && !headers['content-type']) reply.type('application/json; charset=utf-8')
  if (headers.location?.startsWith('/')) reply.header('location', basePath + headers.location)
  if (guest && isSuccess(status)) {
    if (guest.origin === 'new') reply.header('guest-token', guest.revealToken())
    if (guest.origin !== 'header') cookie.write(reply, guest.revealToken())
  }
  // Awaiting a reply awaits its being sent.
  await reply.send(text)
}

/** A known guest that is none any more: it expired or was retired since the request began. */
class GuestVanished extends Error {}

/** What is sent after the commit, to the byte. */
interface Decided {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string | undefined
}

/**
 * The route's steps, and around them what keeps their guest. A new one is stored with any answer of success,
 * even where the route changed nothing: that is for the route to know, and a token too many does no harm.
 */
function* decide(
  reply: FastifyReply,
  guest: Guest | undefined,
  guests: Guests,
  steps: Steps,
): Transaction<Decided> {
  if (guest && guest.origin !== 'new' && !(yield* guests.renew(guest))) throw new GuestVanished()
  const answered = yield* generatorOf(steps)
  if (!(answered instanceof Answer)) {
    throw new TypeError(
      'the steps of request.transaction must return answer(status, body) of @mortise/module-sdk, and of the ' +
        "host's copy: a module has it as a peer dependency and does not bundle it",
    )
  }
  const { status, headers, body } = answered
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`answer() takes a status from 200 to 599, not ${status}`)
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
  const text = serialize(reply, status, body)
  if (guest?.origin === 'new' && isSuccess(status)) yield* guests.store(guest)
  return { status, headers, text }
}

/** With the route's serializer for the status, found as Fastify finds it; as plain JSON where it has none. */
function serialize(reply: FastifyReply, status: number, body: unknown): string | undefined {
  if (body === undefined) return undefined
  for (const key of [String(status), `${Math.trunc(status / 100)}xx`, 'default']) {
    const serializer = reply.getSerializationFunction(key)
    if (typeof serializer === 'function') return serializer(body as Record<string, unknown>)
  }
  return JSON.stringify(body)
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
