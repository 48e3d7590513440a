import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../../packages/application/test/application-folder.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { controlSocket } from '../../src/control/control-socket.ts'
import { pidFile } from '../../src/control/host-process.ts'
import { reportingWaits } from '../../src/control/response-deadline.ts'

/** Someone who listens in the place of a host, with a process of its own. */
async function listening(t: Test, server: ReturnType<typeof createServer>) {
  const directory = await temporaryFolder(t)
  const socket = controlSocket(directory)
  await mkdir(dirname(socket), { recursive: true })
  await writeFile(pidFile(socket), '4711')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return directory
}

t.test(
  'a host that does not say that it hears is given up after 5 s, and then after half a second',
  async (t) => {
    let hears = false
    const server = createServer((_request, response) => response.end('{}'))
    server.on('checkContinue', (_request, response) => {
      if (!hears) return
      response.writeContinue()
      response.end('{}')
    })
    const directory = await listening(t, server)
    const begun = performance.now()
    await t.rejects(callRunningHost(directory, 'state'), { name: 'HostSilentError', pid: 4711 })
    t.ok(performance.now() - begun >= 4_500)
    await t.rejects(callRunningHost(directory, 'state'), { message: /process 4711/ })
    hears = true
    t.ok(await callRunningHost(directory, 'state'))
  },
)

t.test('a command waits for a host that sends heartbeats, and prints a notice', async (t) => {
  const server = createServer((_request, response) => {
    const timer = setInterval(() => response.writeProcessing(), 1_000)
    setTimeout(() => {
      clearInterval(timer)
      response.end('{}')
    }, 12_000)
  })
  const directory = await listening(t, server)
  const said: string[] = []
  t.match(
    await reportingWaits(
      (text) => said.push(text),
      () => callRunningHost(directory, 'state'),
    ),
    {},
  )
  t.same(said, ['Still waiting for the running host (process 4711), after 10 s.'])
})

t.test('a command stops waiting for a host that is silent for 10 s', async (t) => {
  const directory = await listening(
    t,
    createServer(() => {}),
  )
  const begun = performance.now()
  await t.rejects(callRunningHost(directory, 'state'), { name: 'HostSilentError' })
  t.ok(performance.now() - begun >= 9_500)
})
