import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify from 'fastify'
import t from 'tap'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { controlSocket, openControlSocket } from '../../src/control/control-socket.ts'
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
  const [first, second] = [fastify(), fastify()]
  t.teardown(() => Promise.all([first.close(), second.close()]))
  first.get('/state', async () => ({ pid: 1 }))
  second.get('/state', async () => ({ pid: 2 }))
  await openControlSocket(first, directory)
  await t.rejects(openControlSocket(second, directory), { name: 'StorageBusyError' })
  t.match(await callRunningHost(directory, 'state'), { pid: 1 })
  await first.close()
  await mkdir(join(directory, '.app'), { recursive: true })
  await writeFile(controlSocket(directory), '')
  await openControlSocket(second, directory)
  t.match(await callRunningHost(directory, 'state'), { pid: 2 })
})
