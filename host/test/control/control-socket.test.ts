import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify from 'fastify'
import t from 'tap'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { ControlListener } from '../../src/control/control-listener.ts'
import { controlSocket } from '../../src/control/control-socket.ts'
import { temporaryFolder } from '../application-folder.ts'

t.test('a host that listens under another name of this machine is found', async (t) => {
  const directory = await temporaryFolder(t)
  await mkdir(join(directory, '.app'))
  t.equal(await callRunningHost(directory, 'state'), undefined)
  const app = fastify()
  app.get('/state', async () => ({ pid: 7 }))
  await app.listen({ path: join(directory, '.app', 'control.sock') })
  t.teardown(() => app.close())
  t.same(await callRunningHost(directory, 'state'), { pid: 7 })
})

t.test('a socket in use stays, the socket of a dead host is replaced', async (t) => {
  const directory = await temporaryFolder(t)
  const opened = async (pid: number) => {
    const control = fastify()
    control.get('/state', async () => ({ pid }))
    const listener = await ControlListener.open(directory)
    t.teardown(() => listener.close())
    await listener.serve(control)
    return listener
  }
  const first = await opened(1)
  await t.rejects(ControlListener.open(directory), { name: 'StorageBusyError' })
  t.match(await callRunningHost(directory, 'state'), { pid: 1 })
  await first.close()
  await writeFile(controlSocket(directory), '')
  await opened(2)
  t.match(await callRunningHost(directory, 'state'), { pid: 2 })
})
