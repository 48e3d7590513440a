import { once } from 'node:events'
import type { Server } from 'node:net'

// A host that `app start` keeps serving, and its parent. After `app host-upgrade` their versions differ,
// so additions must be optional.

/** The first message of the parent, with the socket that it keeps. */
export interface ToServing {
  readonly type: 'begin'
  /** How the host before this one ended; absent for the first. */
  readonly previous: string | undefined
  /** Whether one before it has served, and so said where. */
  readonly hasServed: boolean
  /** What the socket listens on; absent without one. */
  readonly listensOn: string | undefined
}

export type FromServing =
  /** With the socket. */
  | { readonly type: 'listens'; readonly on: string }
  | { readonly type: 'serves'; readonly drainSeconds: number }

/** A port and an address as they are configured. */
interface Wish {
  readonly port: number
  readonly host: string
}

const PARENT = 'MORTISE_PARENT'

/** The parent of this process; undefined without one. Call it once. */
export async function takeParent(): Promise<Parent | undefined> {
  const pid = Number(process.env[PARENT])
  delete process.env[PARENT]
  if (!pid || !process.connected) return undefined
  const [message, handle] = (await once(process, 'message')) as [ToServing, unknown]
  process.channel?.unref()
  return new Parent(pid, message, handle)
}

/** The process that starts this host again when it ends, and keeps its socket meanwhile. */
export class Parent {
  readonly pid: number
  /** How the host before this one ended, a clause; undefined for the first. */
  readonly previous: string | undefined
  readonly hasServed: boolean
  readonly #listensOn: string | undefined
  readonly #handle: unknown

  constructor(pid: number, { previous, hasServed, listensOn }: ToServing, handle: unknown) {
    this.pid = pid
    this.previous = previous
    this.hasServed = hasServed
    this.#listensOn = listensOn
    this.#handle = handle
  }

  /** The kept socket for `listen`; undefined if there is none for this port and address. */
  socketFor(wish: Wish): { readonly fd: number } | undefined {
    return this.#listensOn === textOf(wish) ? (this.#handle as { readonly fd: number }) : undefined
  }

  /** Lets the parent keep the socket on which `server` listens. */
  keep(server: Server, wish: Wish): void {
    if (this.socketFor(wish) !== undefined) return
    const { _handle } = server as unknown as { readonly _handle: never }
    // A net.Server would accept in the parent.
    this.#send({ type: 'listens', on: textOf(wish) }, _handle)
  }

  serves(drainSeconds: number): void {
    this.#send({ type: 'serves', drainSeconds })
  }

  /** The parent may be gone. */
  #send(message: FromServing, handle?: never): void {
    if (process.connected) process.send?.(message, handle, undefined, () => {})
  }
}

const textOf = ({ port, host }: Wish) => JSON.stringify({ port, host })
