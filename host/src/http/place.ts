import type { IncomingMessage } from 'node:http'
import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'
import { discardBody } from './discard-body.ts'
import { leave, type ModuleShares, type SharedPlace } from './module-shares.ts'
import { http } from './node-http.ts'

/** What limits the requests in progress. */
interface Places {
  readonly modules: ModuleShares
  /** Of requests in progress: one more, or one less. */
  count(change: 1 | -1): void
}

/**
 * The place of a request among those in progress. It ends when the head of the response is sent, or
 * the connection closes.
 */
export class Place implements SharedPlace {
  readonly #places: Places
  share: SharedPlace['share']
  isOver = false
  #isPaused = false

  constructor(places: Places) {
    this.#places = places
    places.count(1)
  }

  /** See `ModuleShares`. */
  enter(module: string): boolean {
    return this.#places.modules.enter(module, this)
  }

  wait(module: string, next: (problem?: Problem) => void): void {
    this.#places.modules.wait(module, this, next)
  }

  pause(): void {
    this.#isPaused = true
    this.#places.count(-1)
  }

  resume(): void {
    this.#isPaused = false
    this.#places.count(1)
  }

  end(): void {
    if (this.isOver) return
    this.isOver = true
    if (this.share !== undefined) leave(this.share)
    if (!this.#isPaused) this.#places.count(-1)
  }
}

/** A response of the server. One of `inject` has no place. */
export interface Placed {
  readonly place?: Pick<Place, 'enter' | 'wait'> | undefined
  reply?: FastifyReply | undefined
}

/** A response that reports when its head is sent, and drops the unread rest of a request body. */
export class Response<Request extends IncomingMessage> extends http.ServerResponse<Request> {
  place: Place | undefined
  /** Whether it has a place among the open streams. */
  isHeld = false
  /** On a route of a module. */
  reply: FastifyReply | undefined

  take(place: Place): void {
    this.place = place
    // Also covers a client that disconnects before the response.
    this.on('close', endPlace)
  }

  // biome-ignore lint/suspicious/noExplicitAny: it has two signatures
  override writeHead(...args: any): this {
    if (!this.req.complete) discardBody(this)
    super.writeHead(...(args as [number]))
    this.place?.end()
    return this
  }
}

/** One function for all responses: a closure for each would cost every request. */
function endPlace(this: Placed & { readonly place?: Place | undefined }): void {
  this.place?.end()
}
