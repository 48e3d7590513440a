import { mkdir } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../../packages/application/test/application-folder.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { ControlListener } from '../../src/control/control-listener.ts'
import { controlSocket, type Place } from '../../src/control/control-socket.ts'

/** What a worker responds to an operation: status and body. */
type Replies = Readonly<Record<string, readonly [number, object]>>

const state = (pid: number) => ({ pid, supervisor: 4711, generation: pid, host: '1.0.0', modules: [] })

const responding =
  (responses: Replies): RequestListener =>
  async (request, response) => {
    if (request.method === 'POST') await json(request)
    const [status, body] = responses[request.url as string] ?? [404, { reason: 'unknown' }]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

/** A worker of `directory` that serves `responses`; without these it has not started yet. */
async function worker(t: Test, directory: string, place: Place, responses?: Replies) {
  const listener = await ControlListener.open(directory, place)
  t.teardown(() => listener.close())
  if (responses !== undefined) listener.serve(responding(responses))
  return listener
}

t.test('the state of several hosts is one, with the oldest generation', async (t) => {
  const directory = await temporaryFolder(t)
  await worker(t, directory, 1, { '/state': [200, state(8)] })
  await worker(t, directory, 2, { '/state': [200, state(7)] })
  t.match(await callRunningHost(directory, 'state'), {
    ...{ pid: 4711, generation: 7 },
    workers: [{ pid: 8 }, { pid: 7 }],
  })
})

t.test('a change is refused if one of the hosts refuses it', async (t) => {
  const directory = await temporaryFolder(t)
  await worker(t, directory, 1, { '/activate': [200, { generation: 2 }] })
  await worker(t, directory, 2, { '/activate': [409, { reason: 'no luck', module: 'note' }] })
  await t.rejects(callRunningHost(directory, 'activate'), { message: /note: no luck/ })
})

t.test('a change waits for a host that starts, and a read does not', async (t) => {
  const directory = await temporaryFolder(t)
  await worker(t, directory, 1, { '/state': [200, state(1)], '/activate': [200, { generation: 2 }] })
  const starting = await worker(t, directory, 2)
  t.match(await callRunningHost(directory, 'state'), { workers: [{ pid: 1 }] })
  let isDone = false
  const activated = callRunningHost(directory, 'activate').finally(() => {
    isDone = true
  })
  // It has asked the other one meanwhile.
  t.match(await callRunningHost(directory, 'state'), { workers: [{ pid: 1 }] })
  t.notOk(isDone)
  starting.serve(responding({ '/activate': [200, { generation: 2 }] }))
  t.same(await activated, { generation: 2 })
})

t.test('a read waits if every host starts', async (t) => {
  const directory = await temporaryFolder(t)
  const starting = await worker(t, directory, 1)
  const asked = callRunningHost(directory, 'schema')
  starting.serve(responding({ '/schema': [200, { statements: [], ledger: [] }] }))
  t.same(await asked, { statements: [], ledger: [] })
})

t.test('a host that does not respond is left out of a read, and another does the work', async (t) => {
  const directory = await temporaryFolder(t)
  await mkdir(join(directory, '.app'))
  const hanging = createServer(() => {})
  hanging.on('checkContinue', () => {})
  hanging.listen(controlSocket(directory, 1))
  t.teardown(() => {
    hanging.close()
    hanging.closeAllConnections()
  })
  await worker(t, directory, 2, { '/state': [200, state(2)], '/audit': [200, { records: [] }] })
  t.match(await callRunningHost(directory, 'state'), { workers: [{ pid: 2 }] })
  t.same(await callRunningHost(directory, 'audit', { limit: 0 }), { records: [] })
})

t.test('a supervisor restarts its workers, and a host without one refuses', async (t) => {
  const directory = await temporaryFolder(t)
  await worker(t, directory, 1, { '/restart': [409, { reason: 'it is one process' }] })
  await t.rejects(callRunningHost(directory, 'restart'), { message: /it is one process/ })
  await worker(t, directory, 'supervisor', { '/restart': [200, { workers: 1 }] })
  t.same(await callRunningHost(directory, 'restart'), { workers: 1 })
})

t.test('a supervisor and a host exclude each other', async (t) => {
  const directory = await temporaryFolder(t)
  await worker(t, directory, 'supervisor')
  await t.rejects(ControlListener.open(directory), { name: 'StorageBusyError' })
})
