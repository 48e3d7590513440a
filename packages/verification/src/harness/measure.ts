import type { EventEmitter } from 'node:events'
import { readdirSync } from 'node:fs'
import { Server } from 'node:http'
import { createRequire } from 'node:module'
import { queryObjects } from 'node:v8'
/** Values that must not keep growing in a long-running process. */
export interface ProcessFigures {
  /** Bytes of JavaScript objects, after garbage collection. */
  readonly heap: number
  /** Fastify instances in memory: the serving one and the control socket's. */
  readonly instances: number
  /** Timers, servers, watchers and the like, without connections. */
  readonly handles: number
  /** Listeners on the process, and on its servers. */
  readonly listeners: number
  /** Open files and sockets; undefined if the system does not report them. */
  readonly descriptors: number | undefined
}

// Preloaded into the host with --import. It responds to each message of the parent with the figures.

// Fastify creates one of these per instance.
const Boot = createRequire(createRequire(import.meta.url).resolve('fastify'))('avvio')

process.on('message', () => process.send?.(figures()))
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

function figures(): ProcessFigures {
  for (let pass = 0; pass < 4; pass++) globalThis.gc?.()
  const { _getActiveHandles: active } = process as unknown as { _getActiveHandles(): object[] }
  const servers = active.call(process).filter((handle) => handle instanceof Server)
  return {
    heap: process.memoryUsage().heapUsed,
    instances: queryObjects(Boot, { format: 'count' }),
    handles: process.getActiveResourcesInfo().filter((kind) => kind !== 'TCPSocketWrap').length,
    listeners: [process, ...servers].reduce((sum, emitter) => sum + listenersOf(emitter), 0),
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : undefined,
  }
}

const listenersOf = (emitter: EventEmitter) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
