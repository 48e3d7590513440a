import { EventEmitter } from 'node:events'
import { readdirSync } from 'node:fs'
import { Server } from 'node:http'
import { createRequire } from 'node:module'
import { queryObjects } from 'node:v8'
import type { Figures } from './figures.ts'

// Preloaded into the host with --import. It responds to each message of the parent with the figures.

// Fastify creates one of these per instance.
const Boot = createRequire(createRequire(import.meta.url).resolve('fastify'))('avvio')

process.on('message', () => process.send?.(figures()))
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

function figures(): Figures {
  for (let pass = 0; pass < 4; pass++) globalThis.gc?.()
  const { _getActiveHandles: active } = process as unknown as { _getActiveHandles(): object[] }
  const servers = active.call(process).filter((handle) => handle instanceof Server)
  return {
    heap: process.memoryUsage().heapUsed,
    instances: queryObjects(Boot, { format: 'count' }),
    handles: process.getActiveResourcesInfo().filter((kind) => kind !== 'TCPSocketWrap').length,
    listeners: [process, ...servers].reduce((sum, emitter) => sum + listenersOf(emitter), 0),
    emitters: queryObjects(EventEmitter, { format: 'count' }),
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : undefined,
  }
}

const listenersOf = (emitter: EventEmitter) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
