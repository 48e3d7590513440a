import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify from 'fastify'
import t from 'tap'
import { temporaryFolder } from '../../../packages/application/test/application-folder.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { ControlListener } from '../../src/control/control-listener.ts'
import { controlSocket } from '../../src/control/control-socket.ts'
import { reportingWaits } from '../../src/control/response-deadline.ts'

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
    await control.ready()
    listener.serve(control.routing)
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

t.test('requests wait for a host that starts, and for the end of one that stops', async (t) => {
  const directory = await temporaryFolder(t)
  const control = fastify()
  control.get('/state', async () => ({ pid: 1 }))
  const listener = await ControlListener.open(directory)
  t.teardown(() => listener.close())
  /** Resolves when the host has reported why it does not respond. */
  const asked = async (phase: string) => {
    const { promise: reported, resolve } = Promise.withResolvers<string>()
    let responded = false
    const response = reportingWaits(resolve, () => callRunningHost(directory, 'state')).finally(() => {
      responded = true
    })
    t.equal(await reported, `The host is ${phase}. Waiting for it.`)
    t.notOk(responded)
    return { response }
  }
  const early = await asked('starting')
  await control.ready()
  listener.serve(control.routing)
  t.match(await early.response, { pid: 1 })
  listener.hold()
  const late = await asked('stopping')
  await listener.close()
  t.equal(await late.response, undefined)
})
