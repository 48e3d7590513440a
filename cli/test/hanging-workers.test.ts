import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { type ApplicationState, callRunningHost } from '@mortise/host'
import t, { type Test } from 'tap'
import { endlessLoop, sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { until } from './late-modules.ts'
import { testApplication } from './run-app.ts'
import { door, startApp } from './run-process.ts'
import { skipPostgres, usePostgres } from './test-on-engines.ts'

async function running(t: Test) {
  const application = await testApplication(t)
  const { root, directory, run } = application
  await usePostgres(t, directory)
  const hello = await sampleTarball(join(root, 'hello.tgz'), {
    plugin: `
      app.get('/hello', { config: { access: 'public' } }, async (request) => {
        if (request.headers.hang === String(process.pid)) ${endlessLoop}
        return { version: '1.0.0' }
      })`,
  })
  t.match(await run('module-install', '--yes', hello), { exitCode: 0 })
  // Without the watchdog of each worker: the supervisor sees what the watchdog cannot, a native call.
  const environment = { APP_HOST_BLOCKED_SECONDS: '0' }
  const words = ['start', '--workers', '2', '--port', '0', '--dir', directory, '--json']
  const host = startApp(t, words, [], door, { environment })
  await host.says(/"workers": \[[^\]]+\]/)
  const { url, workers } = JSON.parse(host.stdout) as { url: string; workers: [number, number] }
  const state = async () => (await callRunningHost(directory, 'state')) as ApplicationState
  const get = (path: string, headers = {}) =>
    fetch(`${url}${path}`, {
      headers: { connection: 'close', ...headers },
      signal: AbortSignal.timeout(30_000),
    })
  const [victim, other] = workers
  /** By the worker that lives: one connection at most waits for the other. */
  const responded = (path: string) => Promise.race([1, 2].map(() => get(path)))
  return { ...application, host, state, get, responded, victim, other }
}

const skip = skipPostgres

t.test('a host with a worker that hangs', { skip }, async (t) => {
  const { directory, run, host, state, get, responded } = await running(t)
  const pids = async () => (await callRunningHost(directory, 'state'))?.workers?.map(({ pid }) => pid) ?? []
  /** Both processes, once both respond: one that is slow to is not in the state. */
  const both = async () => {
    await until(async () => (await pids()).length === 2)
    return (await pids()) as [number, number]
  }

  // Before any change: one would be reverted for it.
  await t.test('a worker with a blocked event loop is replaced', async (t) => {
    const [victim] = await both()
    // Each connection goes to the next process: one of these is the victim's.
    for (const _process of [1, 2]) void get('/hello', { hang: `${victim}` }).catch(() => {})
    await host.says(new RegExp(`process ${victim} blocked its event loop for \\d+ s`))
    await until(async () => !(await pids()).includes(victim))
    await both()
    t.match(await get('/hello'), { status: 200 })
  })

  await t.test('a stopped worker is replaced and blocks nothing in the meantime', async (t) => {
    const [victim] = await both()
    process.kill(victim, 'SIGSTOP')
    const handed = [1, 2, 3].map(() => get('/hello'))
    await until(async () => (await state()).silentWorkers !== undefined)
    t.match(await responded('/health/ready'), { status: 200 })
    const metrics = await (await responded('/metrics')).text()
    t.match(metrics, /^mortise_workers\{state="serving"\} 1$/m)
    t.match(metrics, /^mortise_workers\{state="silent"\} 1$/m)
    t.match(metrics, /^mortise_module_up\{module="hello"/m)
    t.match(await state(), { workers: [{}], silentWorkers: [victim] })
    t.match(await run('doctor'), { exitCode: 1, json: { findings: [{ id: 'worker-silent' }] } })
    t.match(await run('module-disable', 'hello'), { exitCode: 0, json: { live: true } })
    await host.says(new RegExp(`process ${victim} sent no heartbeat for 10 s.*a new process starts`))
    for (const response of await Promise.all(handed))
      t.equal(response.ok || response.status === 404, true, 'nobody waits for ever')
    await both()
    const { generation } = await readLockFile(directory)
    t.match(await state(), {
      generation,
      workers: [{ generation }, { generation }],
      silentWorkers: undefined,
    })
  })

  await t.test('restart works although one worker is stopped', async (t) => {
    const [victim, other] = await both()
    process.kill(victim, 'SIGSTOP')
    const restarted = await run('restart')
    t.equal(restarted.exitCode, 0, restarted.stdout)
    const next = await both()
    t.notOk(next.includes(victim) || next.includes(other))
  })

  await t.test('workers that end at once come back on the same port', async (t) => {
    const ended = await both()
    for (const pid of ended) process.kill(pid, 'SIGKILL')
    await until(async () => !(await pids()).some((pid) => ended.includes(pid)))
    await both()
    t.match(await get('/health/live'), { status: 200 })
  })

  await t.test('SIGTERM ends the parent soon although a worker is stopped', async (t) => {
    const [victim] = await both()
    process.kill(victim, 'SIGSTOP')
    const begun = performance.now()
    host.child.kill('SIGTERM')
    t.equal(await host.ended, 0, host.stderr)
    t.ok(performance.now() - begun < 15_000)
  })
})

t.test('workers end soon after their parent was stopped and killed', { skip }, async (t) => {
  const { directory, run, host, victim, other } = await running(t)
  host.child.kill('SIGSTOP')
  t.match(await run('module-list'), { exitCode: 0 }, 'the workers are hosts')
  t.match(await run('restart'), {
    exitCode: 1,
    json: { error: { code: 'host-silent', message: `process ${host.child.pid}` } },
  })
  host.child.kill('SIGKILL')
  await until(() => [victim, other].every((pid) => !isAlive(pid)))
  t.equal(await callRunningHost(directory, 'state'), undefined)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
