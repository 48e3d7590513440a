import type { Socket } from 'node:net'
import type { Connections } from './http-connections.ts'
import type { Response } from './place.ts'

/** Checks, one a second, after which a response counts as one that stays open. */
const LOOKS = 10

/**
 * Finds responses that stay open, of any module: a stream, a reply that is hijacked.
 * Each takes a place among the open streams then, or ends.
 */
export class LongResponses {
  readonly #connections: Pick<Connections, 'open'>
  readonly #timer: NodeJS.Timeout
  #looks = new Map<Response<never>, number>()

  constructor(connections: Pick<Connections, 'open'>, interval = 1_000) {
    this.#connections = connections
    this.#timer = setInterval(() => this.#look(), interval).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const looks = new Map<Response<never>, number>()
    for (const socket of this.#connections.open) {
      const response = responseOn(socket)
      if (!response?.headersSent || response.isHeld) continue
      const seen = (this.#looks.get(response) ?? 0) + 1
      if (seen < LOOKS) looks.set(response, seen)
      else hold(response)
    }
    this.#looks = looks
  }
}

function hold(response: Response<never>): void {
  try {
    response.reply?.holdOpen()
  } catch (error) {
    response.reply?.log.warn(`a response that stays open was cut off: ${(error as Error).message}`)
    response.destroy()
  }
}

/** The response that a connection sends now. Node has no public API for it. */
const responseOn = (socket: Socket) =>
  (socket as unknown as { readonly _httpMessage?: Response<never> | null })._httpMessage
