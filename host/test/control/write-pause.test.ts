import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { applicationFolder } from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { controlSocket } from '../../src/control/control-socket.ts'
import { pauseWrites } from '../../src/control/pause-writes.ts'

/** An application; `post` writes a guest, which returns 201. */
async function running(t: Test, environment = {}) {
  const directory = await applicationFolder(t)
  const host = await Application.start({
    directory,
    environment: { APP_LOG_LEVEL: 'silent', ...environment },
  })
  t.teardown(() => host.close())
  const post = async () => (await fetch(`${host.url}/guest`, { method: 'POST' })).status
  const settled = async (status: number) => {
    while ((await post()) !== status) await new Promise(setImmediate)
  }
  const config = await readFile(configFile(directory), 'utf8')
  const switchTo = (next: string, previous = config) =>
    callRunningHost(directory, 'switch', { previous, next })
  return { directory, host, post, settled, config, switchTo, file: join(directory, 'data', 'app.db') }
}

t.test('a write pause refuses writes, not reads', async (t) => {
  const { directory, host, post, settled, file } = await running(t)
  const before = Array.from({ length: 20 }, post)
  const held = await pauseWrites(directory, file)
  t.ok((await Promise.all(before)).every((status) => status === 201 || status === 503))
  t.equal(await post(), 503)
  t.equal((await fetch(`${host.url}/health/ready`)).status, 200)
  await t.rejects(pauseWrites(directory, file), { name: 'ConfigError', message: /another command/ })
  t.equal(await post(), 503, 'still')
  held?.release()
  await settled(201)
})

t.test('a silent holder pauses writes for at most half a minute', async (t) => {
  const { directory, post, settled, file } = await running(t, { APP_RATE_LIMIT_MAX: '0' })
  const call = request({
    socketPath: controlSocket(directory),
    method: 'POST',
    path: '/hold',
    headers: { 'content-type': 'application/json' },
  })
  call.on('error', () => {}).end(JSON.stringify({ file }))
  const [response] = await once(call, 'response')
  response.resume().on('error', () => {})
  t.equal(await post(), 503)
  while ((await post()) !== 201) await pause(200)
  const keeping = callRunningHost(directory, 'keep', { left: 40 })
  await t.rejects(keeping, { name: 'HostRefusedError', status: 409, message: /write pause has ended/ })
  const held = await pauseWrites(directory, file)
  const switched = AbortSignal.timeout(35_000)
  const statuses = new Set<number>()
  for (; !switched.aborted; await pause(100)) {
    statuses.add(await post())
    await callRunningHost(directory, 'keep')
  }
  t.same([...statuses], [503], 'one that is at work holds them for as long as it takes')
  held?.release()
  await settled(201)
})

t.test('a refused write says how long the move still takes', async (t) => {
  const { directory, host, file, config, switchTo } = await running(t)
  const refused = async () => {
    const response = await fetch(`${host.url}/guest`, { method: 'POST' })
    const { status, code, detail } = (await response.json()) as Record<string, unknown>
    return { status, code, detail, retryAfter: response.headers.get('retry-after') }
  }
  const rest = 'another database: writes are refused, and nothing was changed. Reads continue. Try again'
  const busy = { status: 503, code: 'busy' }
  const held = await pauseWrites(directory, file)
  t.strictSame(await refused(), { ...busy, detail: `The data move to ${rest}.`, retryAfter: '5' })
  await callRunningHost(directory, 'keep', { left: 40 })
  t.strictSame(await refused(), {
    ...busy,
    detail: `The data move to ${rest} in about 40 s.`,
    retryAfter: '40',
  })
  await callRunningHost(directory, 'keep', { left: 7 })
  t.match(await refused(), { retryAfter: '7' })
  await switchTo(`${config} `)
  const moved = {
    detail: /^The data have moved to another database, for which the host must restart: writes/,
  }
  t.match(await refused(), { ...busy, ...moved, retryAfter: '5' })
  await callRunningHost(directory, 'keep', { left: 7 })
  t.match(await refused(), moved)
  held?.release()
})

t.test('clients that disconnect at once delay nobody', async (t) => {
  const { directory, settled, file } = await running(t)
  for (let time = 0; time < 20; time++) {
    const call = request({
      socketPath: controlSocket(directory),
      method: 'POST',
      path: '/hold',
      headers: { 'content-type': 'application/json' },
    })
    call.on('error', () => {}).end(JSON.stringify({ file }))
    await once(call, 'finish')
    for (let turn = 0; turn < time; turn++) await new Promise(setImmediate)
    call.destroy()
  }
  await settled(201)
})

t.test('once the configuration has changed, writes are refused to the end', async (t) => {
  const { directory, host, post, config, switchTo, file } = await running(t)
  await t.rejects(switchTo('{}'), { status: 409, message: /write pause has ended/ })
  const held = await pauseWrites(directory, file)
  await t.rejects(switchTo('{}', 'something else'), { status: 409, message: /changed meanwhile/ })
  t.equal(await readFile(configFile(directory), 'utf8'), config)
  const next = `${config} `
  t.ok(await switchTo(next))
  t.equal(await readFile(configFile(directory), 'utf8'), next)
  held?.release()
  for (let time = 0; time < 20; time++) t.equal(await post(), 503)
  const ready = await fetch(`${host.url}/health/ready`)
  t.match(await ready.json(), { status: 503, detail: /host must restart/ })
  await t.rejects(pauseWrites(directory, file), { message: /already moved/ })
  await host.close()
  t.equal(await pauseWrites(directory, file), undefined)
})

t.test('a write pause whose switch failed ends with its connection', async (t) => {
  const { directory, settled, switchTo, file } = await running(t)
  const held = await pauseWrites(directory, file)
  await t.rejects(switchTo('{}', 'something else'), { name: 'HostRefusedError', status: 409 })
  held?.release()
  await settled(201)
})

t.test('a host with another database, or with APP_DATABASE, refuses the write pause', async (t) => {
  const { directory, post } = await running(t)
  await writeFile(join(directory, 'data', 'other.db'), '')
  await t.rejects(pauseWrites(directory, join(directory, 'data', 'other.db')), {
    message: /does not use/,
  })
  t.equal(await post(), 201)
})

t.test('a host with APP_DATABASE refuses the write pause', async (t) => {
  const { directory, file } = await running(t, { APP_DATABASE: 'data/app.db' })
  await t.rejects(pauseWrites(directory, file), { message: /APP_DATABASE/ })
})
