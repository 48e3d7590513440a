import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type EventEmitter, errorMonitor } from 'node:events'
import { Socket } from 'node:net'

/** Where Node announces what code creates: a socket, a request, a server, a process, a thread. */
const channels = [
  'net.client.socket',
  'http.client.request.created',
  'tracing:net.server.listen:asyncStart',
  'udp.socket',
  'child_process',
  'worker_threads',
] as const

type Created = Partial<
  Record<'request' | 'server' | 'process' | 'worker', Pick<EventEmitter, 'prependListener'>>
> & { readonly socket?: Socket }

/**
 * So many times its limit, with those that are about to end, and an attempt to open one more throws: errors that
 * come later do not stop its loop, and each costs time.
 */
const FLOOD = 2

/** The open connections that modules may have made: one of them, and all. */
export interface SocketLimits {
  readonly ofModule: number
  readonly all: number
}

/**
 * Finds the creator of an emitter whose error has no listener: the stack of such an error has frames
 * of Node only. The creator is read from the stack at the creation, so requests that create none cost
 * nothing. A connection beyond the limits ends with an error before it takes a descriptor.
 * @param ownerIn finds the owner in a stack
 */
export function watchEmitters(
  ownerIn: (stack: string | undefined) => string | undefined,
  limits: SocketLimits,
) {
  const owners = new WeakMap<object, string>()
  const open = new Map<string, number>()
  /** The owners that have got an error. */
  const refused = new Set<string>()
  let all = 0
  const count = (owner: string, change: 1 | -1) => {
    all += change
    open.set(owner, openOf(owner) + change)
  }
  const openOf = (owner: string) => open.get(owner) ?? 0
  const takeSocket = (owner: string, socket: Socket) => {
    const excess = excessOf(openOf(owner), all, limits)
    count(owner, 1)
    socket.once('close', () => count(owner, -1))
    if (excess === undefined) return
    // Node connects in a later tick, and connects again what is destroyed before.
    process.nextTick(() => {
      // One error without a listener is enough, and each costs the time of some requests.
      const isHeard = socket.listenerCount('error') > 0 || !refused.has(owner)
      refused.add(owner)
      socket.destroy(isHeard ? new Error(excess) : undefined)
    })
  }
  const onCreated = (message: unknown) => {
    const { socket, request, server, process, worker } = message as Created
    const owner = ownerIn(wholeError().stack)
    if (owner === undefined) return
    if (socket !== undefined) takeSocket(owner, socket)
    const emitter = socket ?? request ?? server ?? process ?? worker
    // Called before listeners, and no listener itself.
    emitter?.prependListener(errorMonitor, (error) => {
      if (typeof error === 'object' && error !== null) owners.set(error, owner)
    })
  }
  for (const channel of channels) subscribe(channel, onCreated)
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]) {
    const flood = FLOOD * limits.ofModule
    // Only then can one of them have so many.
    if (all >= flood) {
      const owner = ownerIn(wholeError().stack)
      if (owner !== undefined && openOf(owner) >= flood) throw new Error(tooMany(limits.ofModule))
    }
    return Reflect.apply(connect, this, given)
  } as typeof connect
  return {
    ownerOf: (error: unknown) => owners.get(error as object),
    /** The open connections of an owner. */
    openOf,
    release() {
      Socket.prototype.connect = connect
      for (const channel of channels) unsubscribe(channel, onCreated)
    },
  }
}

function excessOf(own: number, all: number, limits: SocketLimits): string | undefined {
  if (own >= limits.ofModule) return tooMany(limits.ofModule)
  return all >= limits.all
    ? `the modules have ${limits.all} open connections, and the rest is for the host`
    : undefined
}

const tooMany = (most: number) => `it has ${most} open connections, the most of one module`

/** An error with all frames. */
export function wholeError(message?: string): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = Number.POSITIVE_INFINITY
  const error = new Error(message)
  Error.stackTraceLimit = stackTraceLimit
  return error
}
