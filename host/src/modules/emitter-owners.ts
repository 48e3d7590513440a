import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type EventEmitter, errorMonitor } from 'node:events'

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
  Record<'socket' | 'request' | 'server' | 'process' | 'worker', Pick<EventEmitter, 'prependListener'>>
>

/**
 * Finds the creator of an emitter whose error has no listener: the stack of such an error has frames
 * of Node only. The creator is read from the stack at the creation, so requests that create none cost
 * nothing.
 * @param ownerIn finds the owner in a stack
 */
export function watchEmitters(ownerIn: (stack: string | undefined) => string | undefined) {
  const owners = new WeakMap<object, string>()
  const onCreated = (message: unknown) => {
    const { socket, request, server, process, worker } = message as Created
    const owner = ownerIn(wholeError().stack)
    if (owner === undefined) return
    const emitter = socket ?? request ?? server ?? process ?? worker
    // Called before listeners, and no listener itself.
    emitter?.prependListener(errorMonitor, (error) => {
      if (typeof error === 'object' && error !== null) owners.set(error, owner)
    })
  }
  for (const channel of channels) subscribe(channel, onCreated)
  return {
    ownerOf: (error: unknown) => owners.get(error as object),
    release() {
      for (const channel of channels) unsubscribe(channel, onCreated)
    },
  }
}

/** An error with all frames. */
export function wholeError(message?: string): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = Number.POSITIVE_INFINITY
  const error = new Error(message)
  Error.stackTraceLimit = stackTraceLimit
  return error
}
