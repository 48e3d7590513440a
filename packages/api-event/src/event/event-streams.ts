import type { Caller, EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { Settings } from '../settings.ts'
import { EventStream } from './event-stream.ts'
import { LiveEvents } from './live-events.ts'
import type { Selection } from './selection.ts'
import { limitStreams } from './stream-limits.ts'

/** The start of a stream. */
export interface Beginning {
  readonly cursor: string
  readonly position: number
}

export interface Reader {
  readonly caller: Caller
  /** The client's address, from `request.ip`. */
  readonly address: string
  /** Whether the caller's credentials still hold. The stream checks at every heartbeat. */
  readonly isEntitled: () => Promise<boolean>
}

/** Opens a stream. @throws {Problem} if there are too many: see `limitStreams` */
export type OpenStream = (reader: Reader, selection: Selection, beginning: Beginning) => EventStream

/** The streams of one generation. It limits their number and ends them with the generation. */
export function eventStreams(
  events: EventLog,
  settings: Settings,
  retiring: AbortSignal,
  log: FastifyBaseLogger,
): OpenStream {
  const tail = new LiveEvents(events, log)
  const open = new Set<EventStream>()
  const take = limitStreams(settings)
  const heartbeat = settings.heartbeatSeconds * 1000
  retiring.addEventListener('abort', () => {
    for (const stream of open) stream.end()
  })
  return ({ caller, address, isEntitled }, selection, beginning) => {
    const giveBack = take(caller, address)
    const stream = new EventStream({ ...beginning, events, tail, selection, heartbeat, isEntitled })
    open.add(stream)
    stream.once('close', () => {
      giveBack()
      open.delete(stream)
      if (open.size === 0) tail.stop()
    })
    if (retiring.aborted) stream.end()
    return stream
  }
}
