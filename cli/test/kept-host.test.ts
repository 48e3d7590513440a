import { type ApplicationState, callRunningHost } from '@mortise/host'
import t, { type Test } from 'tap'
import { started, until } from './late-modules.ts'
import { testApplication } from './run-app.ts'
import { door, startApp } from './run-process.ts'

async function running(t: Test) {
  const application = await testApplication(t)
  const host = await started(t, application, [], [])
  const pid = async () =>
    ((await callRunningHost(application.directory, 'state')) as ApplicationState | undefined)?.pid
  return { ...application, host, pid, served: (await pid()) as number }
}

t.test('a host that is killed starts again, and its clients wait for it', async (t) => {
  const { host, pid, served, run } = await running(t)
  t.not(served, host.child.pid)
  let refused = 0
  let isDone = false
  const asking = (async () => {
    while (!isDone)
      await fetch(`${host.url}/health/live`, { headers: { connection: 'close' } }).catch((error) => {
        if (error.cause?.code === 'ECONNREFUSED') refused += 1
      })
  })()
  process.kill(served, 'SIGKILL')
  await until(async () => ![undefined, served].includes(await pid()))
  isDone = true
  await asking
  t.equal(refused, 0)
  t.match(host.stderr, new RegExp(`process ${served} was ended by SIGKILL. It starts again in 100 ms`))
  t.match(host.stderr, /"previous":"process \d+ was ended by SIGKILL"/)
  t.equal(host.stdout.match(/Serving/g)?.length, 1, 'it is said once')
  t.match(await run('restart'), { exitCode: 4, json: { error: { code: 'not-restarted' } } })
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  t.equal(await pid(), undefined)
  await t.rejects(fetch(host.url))
})

t.test('a host ends soon after its parent', async (t) => {
  const { host, served } = await running(t)
  host.child.kill('SIGKILL')
  await until(() => !isAlive(served))
})

t.test('a signal that stops the host stops its parent', async (t) => {
  const { host, served } = await running(t)
  process.kill(served, 'SIGTERM')
  t.equal(await host.ended, 0)
})

t.test('a host that served starts again, whatever its exit code', async (t) => {
  const application = await testApplication(t)
  const code = "if (process.send) process.on('SIGUSR2', () => process.reallyExit(3))"
  const options = [`--import=data:text/javascript,${encodeURIComponent(code)}`]
  const host = await started(t, application, options, [])
  const pid = async () =>
    ((await callRunningHost(application.directory, 'state')) as ApplicationState | undefined)?.pid
  const served = (await pid()) as number
  process.kill(served, 'SIGUSR2')
  await until(async () => ![undefined, served].includes(await pid()))
  t.match(host.stderr, `process ${served} ended with exit code 3. It starts again in 100 ms`)
})

t.test('a host that does not stop is killed', async (t) => {
  const application = await testApplication(t)
  const options = (code: string) => [`--import=data:text/javascript,${encodeURIComponent(code)}`]
  // In the host alone: its parent has no channel.
  const deaf = options("if (process.send) process.on('SIGTERM', () => { for (;;); })")
  const host = await started(t, application, deaf, [])
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 137)
})

t.test('a host that keeps ending is given up', async (t) => {
  const { directory } = await testApplication(t)
  const code = "if (process.send) setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)"
  const options = [`--import=data:text/javascript,${encodeURIComponent(code)}`]
  const host = startApp(t, ['start', '--port', '0', '--dir', directory], options, door)
  t.equal(await host.ended, 70)
  t.equal(host.stderr.match(/It starts again in \d+ ms/g)?.length, 5)
  t.match(host.stderr, /its process keeps ending: process \d+ was ended by SIGKILL\.\nLook in its log/)
})

t.test('a host that cannot start is not started again', async (t) => {
  const { directory } = await testApplication(t)
  const environment = { APP_SERVER_PORT: 'x' }
  const host = startApp(t, ['start', '--dir', directory, '--json'], [], door, { environment })
  t.equal(await host.ended, 2)
  t.match(JSON.parse(host.stdout), { error: { exitCode: 2 } })
  t.notMatch(host.stderr, 'starts again')
})

t.test('one process', async (t) => {
  const { directory } = await testApplication(t)
  const argv = ['start', '--no-supervisor', '--port', '0', '--dir', directory, '--json']
  const host = startApp(t, argv, [], door)
  await host.says(/"url"/)
  t.equal(JSON.parse(host.stdout).pid, host.child.pid)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
