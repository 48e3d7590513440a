import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callRunningHost } from '@mortise/host'
import t, { type Test } from 'tap'
import { sampleFolder } from '../../../packages/installer/test/sample-module.ts'
import { packRelease } from '../host-release.ts'
import { KeepAliveClients } from '../keep-alive-clients.ts'
import { testApplication } from '../run-app.ts'
import { door, type StartOptions, startApp } from '../run-process.ts'
import { skipPostgres, usePostgres } from '../test-on-engines.ts'

const WORKERS = 2

interface State {
  readonly pid: number
  readonly generation: number
  readonly workers: readonly { readonly pid: number; readonly host: string; readonly generation: number }[]
}

const until = async (condition: () => Promise<boolean> | boolean) => {
  while (!(await condition())) await pause(20)
}

async function startWorkers(t: Test, options?: StartOptions) {
  const made = await testApplication(t)
  const { directory } = made
  await usePostgres(t, directory)
  const argv = ['start', '--workers', `${WORKERS}`, '--port', '0', '--dir', directory, '--json']
  const running = startApp(t, argv, [], door, options)
  await running.says(/"workers": \[[^\]]+\]/)
  const { url } = JSON.parse(running.stdout)
  const state = async () => {
    return (await callRunningHost(directory, 'state')) as State
  }
  // One that is slow to respond is not in the state.
  await until(async () => (await state()).workers.length === WORKERS)
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    return { status: response.status, body: await response.json() }
  }
  return { ...made, running, url, state, ask }
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('several processes are refused on SQLite, with a hint', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('start', '--workers', '2'), {
    exitCode: 4,
    json: { error: { code: 'one-process', hint: /PostgreSQL/ } },
  })
  for (const count of ['0', 'x', '-1', '1.5', '1000']) {
    t.match(await run('start', '--workers', count), { exitCode: 2 }, count)
  }
})

t.test('the command fails with the failure of its first process', async (t) => {
  const { directory } = await testApplication(t)
  process.env.APP_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
  t.teardown(() => delete process.env.APP_DATABASE)
  const running = startApp(t, ['start', '--workers', '2', '--dir', directory, '--json'])
  t.equal(await running.ended, 1)
  t.match(JSON.parse(running.stdout), { error: { code: 'database-unreachable', exitCode: 1 } })
})

t.test('the life of a host of several processes', { skip: skipPostgres }, async (t) => {
  const { root, directory, running, url, run, state, ask } = await startWorkers(t)

  await t.test('whichever process is asked for metrics, they are those of all', async (t) => {
    const figure = async (name: string): Promise<number> => {
      const body = await (await fetch(`${url}/metrics`)).text()
      // The figures of a process that is silent for seconds are missing.
      if (!body.includes(`mortise_workers{state="serving"} ${WORKERS}\n`)) return figure(name)
      return Number(
        body
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.slice(name.length),
      )
    }
    const count = 'mortise_request_duration_seconds_count'
    const live = `${count}{method="GET",route="/health/live",module="host",status="2xx"}`
    // Each process has asked itself once.
    const before = await figure(live)
    // Each connection goes to the next process.
    for (let asked = 0; asked < 6; asked += 1) {
      const response = await fetch(`${url}/health/live`, { headers: { connection: 'close' } })
      await response.text()
    }
    await ask('/health/ready')
    for (let asked = 0; asked < WORKERS + 1; asked += 1) t.equal(await figure(live), before + 6)
  })

  await t.test('a change reaches every process, or none', async (t) => {
    const first = await sampleFolder(join(root, 'hello-1'))
    t.match(await run('module-install', '--yes', first), { exitCode: 0, json: { live: true } })
    t.match(
      (await state()).workers.map(({ generation }) => generation),
      [1, 1],
    )
    for (const _request of [1, 2, 3, 4])
      t.match(await ask('/hello'), { status: 200, body: { version: '1.0.0' } })

    const [{ pid }] = (await state()).workers as [State['workers'][0]]
    const bad = await sampleFolder(join(root, 'hello-2'), {
      version: '2.0.0',
      plugin: `app.get('/hello', { config: { access: 'public' } }, async () => {
      if (process.pid === ${pid}) throw new Error('on purpose')
      return { version: '2.0.0' }
    })`,
    })
    const refused = await run('module-install', '--yes', bad)
    t.match(refused, { exitCode: 5, json: { error: { message: /on purpose|500/ } } }, refused.stdout)
    t.match(
      (await state()).workers.map(({ generation }) => generation),
      [3, 3],
    )
    for (const _request of [1, 2, 3, 4])
      t.match(await ask('/hello'), { status: 200, body: { version: '1.0.0' } })
    t.match(await run('module-list'), { exitCode: 0, json: { generation: 3 } })
    t.match(await run('doctor'), { exitCode: 0 })
    const effective = Number(new URL(url).port)
    t.match(await run('config', 'get', 'server.port'), { json: { value: 3000, effective, option: '--port' } })
  })

  await t.test('processes are replaced one by one, and no request fails', async (t) => {
    const clients = new KeepAliveClients(`${url}/health/ready`, 16)
    t.teardown(() => clients.stop())
    await clients.responded(100)
    for (let rolling = Number(process.env.ROLLINGS ?? 1); rolling > 0; rolling -= 1) {
      const before = (await state()).workers.map(({ pid }) => pid)
      t.match(await run('restart'), { exitCode: 0, json: { workers: WORKERS } })
      const after = (await state()).workers.map(({ pid }) => pid)
      t.equal(after.length, WORKERS)
      t.notOk(
        after.some((pid) => before.includes(pid)),
        'each is another',
      )
      t.notOk(before.some(isAlive), 'the previous have ended')
    }
    await clients.responded(100)
    await clients.stop()
    t.comment(`${clients.requests} requests`)
    t.strictSame(clients.failures, [])
  })

  await t.test('another host that is pinned takes over without a failed request', async (t) => {
    await packRelease(join(root, 'packages'), '1.1.0')
    await writeFile(join(directory, '.npmrc'), '@mortise:registry=file:../packages\n')
    const clients = new KeepAliveClients(`${url}/health/ready`, 4)
    t.teardown(() => clients.stop())
    const upgraded = await run('host-upgrade')
    t.equal(upgraded.exitCode, 0, upgraded.stdout)
    t.match(await run('doctor'), { json: { findings: [{ id: 'restart-pending' }] } })
    t.match(await run('restart'), { exitCode: 0 })
    t.same(
      (await state()).workers.map(({ host }) => host),
      ['1.1.0', '1.1.0'],
    )
    const doctor = await run('doctor')
    t.equal(doctor.exitCode, 0, doctor.stdout)
    await clients.stop()
    t.strictSame(clients.failures, [])
  })

  await t.test('one that is killed is replaced, and the log says how it ended', async (t) => {
    const { workers } = await state()
    const victim = workers[0]?.pid as number
    process.kill(victim, 'SIGKILL')
    await running.says(new RegExp(`process ${victim} was ended by SIGKILL`))
    await until(async () => (await state()).workers.length === WORKERS)
    t.notOk((await state()).workers.some(({ pid }) => pid === victim))
    t.match(await ask('/health/ready'), { status: 200 })
  })

  await t.test('if all processes keep ending, the parent ends with the reason', async (t) => {
    const { workers } = await state()
    await writeFile(join(directory, 'app.config.json'), '{ "name": 1 }')
    for (const { pid } of workers) process.kill(pid, 'SIGKILL')
    t.equal(await running.ended, 70)
    t.match(running.stderr, /keep ending.*name/s)
  })
})

for (const [name, detached] of [
  ['the parent', false],
  ['all processes of the group', true],
] as const) {
  t.test(`a signal to ${name}: none is ready, all serve, then all end`, { skip: skipPostgres }, async (t) => {
    const environment = { APP_SERVER_DRAIN_SECONDS: '3' }
    const { directory, running, state, url } = await startWorkers(t, { environment, detached })
    const { workers } = await state()
    const pid = running.child.pid as number
    process.kill(detached ? -pid : pid, 'SIGTERM')
    await until(() => running.stderr.split('stopping: SIGTERM').length === WORKERS + 2)
    // Each connection goes to the next process.
    const headers = { connection: 'close' }
    for (const [path, status] of [
      ['/health/ready', 503],
      ['/health/live', 200],
    ])
      for (let asked = 0; asked < 2 * WORKERS; asked += 1)
        t.match(await fetch(`${url}${path}`, { headers }), { status })
    if (detached) process.kill(-pid, 'SIGTERM')
    t.equal(await running.ended, 0, running.stderr)
    t.equal(running.stderr.split('stopped: ').length, WORKERS + 2, running.stderr)
    t.notOk(workers.some(({ pid }) => isAlive(pid)))
    t.equal(await callRunningHost(directory, 'state'), undefined)
  })
}

t.test('a signal during the start ends the started processes', { skip: skipPostgres }, async (t) => {
  const { directory } = await testApplication(t)
  await usePostgres(t, directory)
  const argv = ['start', '--workers', '3', '--port', '0', '--dir', directory, '--json']
  for (const detached of [true, false]) {
    const running = startApp(t, argv, [], door, { detached })
    await running.says(/generation \d+ serves/)
    const pid = running.child.pid as number
    process.kill(detached ? -pid : pid, 'SIGTERM')
    t.equal(await running.ended, 0, running.stderr)
    t.equal(await callRunningHost(directory, 'state'), undefined)
  }
})
