import { EventEmitter } from 'node:events'
import type { Server } from 'node:net'
import t from 'tap'
import { logDropped, logRefusedAddresses } from '../../src/http/log-dropped.ts'

t.test('closed connections are logged at once, then by their number', async (t) => {
  const server = Object.assign(new EventEmitter(), { maxConnections: 5 })
  const reported: number[] = []
  const { promise: second, resolve } = Promise.withResolvers<void>()
  logDropped(
    server as unknown as Server,
    {
      warn({ dropped }: { dropped: number }, line: string) {
        t.match(line, /it has 5, the maximum/)
        if (reported.push(dropped) === 2) resolve()
      },
    } as never,
    10,
  )
  for (let time = 0; time < 1_000; time += 1) server.emit('drop')
  t.same(reported, [1])
  const keepAlive = setTimeout(() => {}, 10_000)
  await second
  clearTimeout(keepAlive)
  t.same(reported, [1, 999])
  server.emit('close')
})

t.test('refused connections are logged with their number and the last address', async (t) => {
  const lines: object[] = []
  const { promise: second, resolve } = Promise.withResolvers<void>()
  const log = {
    warn(line: object, message: string) {
      t.match(message, /an address that has 200.*server\.maxConnectionsPerAddress.*server\.trustProxy/)
      if (lines.push(line) === 2) resolve()
    },
  }
  const refused = logRefusedAddresses(200, log as never, 10)
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) refused(address)
  t.same(lines, [{ refused: 1, address: '10.0.0.1' }])
  const keepAlive = setTimeout(() => {}, 10_000)
  await second
  clearTimeout(keepAlive)
  t.same(lines[1], { refused: 2, address: '10.0.0.3' })
})
