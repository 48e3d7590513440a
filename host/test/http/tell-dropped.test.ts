import { EventEmitter } from 'node:events'
import type { Server } from 'node:net'
import t from 'tap'
import { tellDropped } from '../../src/http/tell-dropped.ts'

t.test('closed connections are told at once, then by their number', async (t) => {
  const server = Object.assign(new EventEmitter(), { maxConnections: 5 })
  const told: number[] = []
  const { promise: second, resolve } = Promise.withResolvers<void>()
  tellDropped(
    server as unknown as Server,
    {
      warn({ dropped }: { dropped: number }, line: string) {
        t.match(line, /5 are open, the most/)
        if (told.push(dropped) === 2) resolve()
      },
    } as never,
    10,
  )
  for (let time = 0; time < 1_000; time += 1) server.emit('drop')
  t.same(told, [1])
  const keepAlive = setTimeout(() => {}, 10_000)
  await second
  clearTimeout(keepAlive)
  t.same(told, [1, 999])
  server.emit('close')
})
