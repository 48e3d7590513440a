import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { StalledResponses } from '../../src/http/stalled-responses.ts'
import { dial, listen } from './exchange.ts'

/** More than any system takes off a process for a reader that takes nothing. */
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x')
const ask = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'

/** A connection that asks and reads nothing, as the server has it. */
async function ofSilentReader(t: Test, server: Server, bytes: string): Promise<Socket> {
  const accepted = once(server, 'connection')
  const socket = dial(t, server)
  socket.on('error', () => {})
  socket.pause()
  socket.write(bytes)
  const [connection] = await accepted
  return connection
}

t.test('a response without progress is ended, however it is written', async (t) => {
  const listeners: Record<string, RequestListener> = {
    'in one piece': (_request, response) => response.end(LARGE),
    'as a stream': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const write = () => {
        while (response.write(LARGE.subarray(0, 100_000)));
      }
      response.on('drain', write)
      write()
    },
  }
  for (const [name, listener] of Object.entries(listeners)) {
    const server = await listen(t, listener, { patience: 100 })
    const connection = await ofSilentReader(t, server, ask)
    if (!connection.destroyed) await once(connection, 'close')
    t.pass(name)
  }
})

t.test('many small responses on one connection are ended too', async (t) => {
  const piece = LARGE.subarray(0, 1_000_000)
  const server = await listen(t, (_request, response) => response.end(piece), { patience: 100 })
  const connection = await ofSilentReader(t, server, ask.repeat(20))
  if (!connection.destroyed) await once(connection, 'close')
  t.pass()
})

t.test('a response that waits for its producer is not ended', async (t) => {
  const server = await listen(
    t,
    (_request, response) => {
      response.write('begun')
      if (_request.url === '/last') response.end()
    },
    { patience: 10 },
  )
  const unfinished = await ofSilentReader(t, server, ask)
  const ended = await ofSilentReader(
    t,
    await listen(t, (_request, response) => response.end(LARGE), { patience: 100 }),
    ask,
  )
  if (!ended.destroyed) await once(ended, 'close')
  t.notOk(unfinished.destroyed)
})

/** A connection whose reader takes `take(look)` bytes before each look. */
function slowReader(take: (look: number) => number) {
  const { promise, resolve } = Promise.withResolvers<number>()
  let look = 0
  const handle = { fd: -1, bytesWritten: 1_000_000, writeQueueSize: 1_000_000 }
  const socket = {
    _handle: handle,
    get writableLength() {
      handle.writeQueueSize = Math.max(0, handle.writeQueueSize - take(look))
      look += 1
      return handle.writeQueueSize
    },
    resetAndDestroy: () => resolve(look),
  }
  return { socket: socket as unknown as Socket, ended: promise }
}

t.test('a slow reader is left alone as long as it makes progress', async (t) => {
  // A byte before every ninth look, ten times.
  const { socket, ended } = slowReader((look) => (look < 90 && look % 9 === 0 ? 1 : 0))
  const responses = new StalledResponses({ open: [socket], isFull: false }, 10)
  const keepAlive = setInterval(() => {}, 1_000)
  t.teardown(() => {
    responses.stop()
    clearInterval(keepAlive)
  })
  t.equal(await ended, 81 + 1 + 10, 'ten looks after the last byte')
  t.equal(responses.ended, 1)
})

t.test('while all connections are taken, timeouts are at most a third', async (t) => {
  const { socket, ended } = slowReader((look) => (look === 5 ? 1 : 0))
  const responses = new StalledResponses({ open: [socket], isFull: true }, 10)
  const keepAlive = setInterval(() => {}, 1_000)
  t.teardown(() => {
    responses.stop()
    clearInterval(keepAlive)
  })
  t.equal(await ended, 3, 'the look that finds it, and two more')
})

t.test(
  'what the system has taken is not what the reader has',
  { skip: process.platform !== 'linux' && 'only Linux shows' },
  async (t) => {
    const server = await listen(t, (_request, response) => response.end(LARGE), { patience: 200 })
    const accepted = once(server, 'connection')
    const socket = dial(t, server)
    socket.on('error', () => {})
    socket.write(ask)
    const [connection] = await accepted
    socket.on('readable', () => {})
    // Far too little at once for anything to leave the process.
    let taken = 0
    while (taken < 2_000_000 && !connection.destroyed) {
      taken += socket.read(Math.min(socket.readableLength, 20_000) || undefined)?.length ?? 0
      await pause(10)
    }
    t.notOk(connection.destroyed)
    await once(connection, 'close')
  },
)
