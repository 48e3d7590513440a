import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { started } from '../late-modules.ts'
import { runApp, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const plugin = `app.get('/hello', { config: { access: 'public' } }, async (request) => {
  if (request.headers.fail) throw new Error('as asked')
  return { version: '1.0.0' }
})`

t.test('--usage shows what each module has used since the host started', async (t) => {
  const { root, directory, run } = await testApplication(t)

  t.equal(
    (
      await run(
        'module-install',
        '--yes',
        await sampleTarball(join(root, 'hello.tgz'), { id: 'hello', plugin }),
      )
    ).exitCode,
    0,
  )
  t.match(await runApp('module-list', '--usage', '--dir', directory), {
    exitCode: 0,
    stdout: /^No host runs/,
  })
  t.match((await run('module-list', '--usage')).json, { modules: [{ id: 'hello', usage: null }] })
  const host = await runningHost(t, directory)
  t.match(await get(host, '/hello'), { status: 200 })
  t.match(await get(host, '/hello'), { status: 200 })
  const taken = { cpu: Number, allocated: Number }
  const usage = { responses: 2, failures: 0, seconds: Number, inProgress: 0, connections: 0, ...taken }
  t.match(await run('module-list', '--usage'), {
    exitCode: 0,
    json: {
      modules: [{ id: 'hello', usage }],
      measured: { processes: 1, host: taken, idle: Number, garbageCollection: Number },
    },
  })
  const { stdout } = await runApp('module-list', '--usage', '--dir', directory)
  t.match(
    stdout,
    /^module +responses +5xx +seconds +in progress +connections +CPU +allocates\nhello +2 +0 +\d+\.\d +0 +0 +[\d.]+ % +[\d.]+ [kM]B\/s\nMeasured for [\d.]+ s: host [\d.]+ %, which allocates [\d.]+ [kM]B\/s; idle [\d.]+ %; garbage collection in all these [\d.]+ %\.\n/,
  )
})

const works = `
  let kept
  const turn = (arrays) => {
    if (process.env.MORTISE_TEST_WORKS === undefined) return
    for (let count = 0; count < arrays; count += 1) kept = new Array(1000).fill(0)
    setTimeout(turn, 10, arrays).unref()
  }
  app.get('/ID', { config: { access: 'public' } }, async () => ({}))
  `

t.test('--usage shows who takes the processor and who allocates', async (t) => {
  // In the host alone: the probe has an empty environment.
  process.env.MORTISE_TEST_WORKS = '1'
  const application = await testApplication(t)
  const { root, run } = application
  for (const [id, plugin] of [
    ['much', `${works}turn(20_000)`],
    ['little', `${works}turn(1_000)`],
    ['nothing', works],
  ] as const) {
    const file = await sampleTarball(join(root, `${id}.tgz`), { id, plugin: plugin.replace('ID', id) })
    t.match(await run('module-install', '--yes', file), { exitCode: 0 })
  }
  await started(t, application)
  const measure = async () => {
    const { modules, measured } = (await run('module-list', '--usage')).json
    const [much, little, nothing] = modules.map((module: { usage: unknown }) => module.usage)
    return { much, little, nothing, measured }
  }
  let { much, little, nothing, measured } = await measure()
  // On a busy machine there are few looks.
  for (let attempt = 1; attempt < 5 && much.cpu <= 3 * little.cpu; attempt += 1)
    ({ much, little, nothing, measured } = await measure())
  t.ok(much.cpu > 3 * little.cpu, JSON.stringify({ much, little }))
  t.ok(much.allocated > 3 * little.allocated, JSON.stringify({ much, little }))
  t.ok(little.allocated > 1_000_000, JSON.stringify(little))
  t.match(nothing, { cpu: 0, allocated: 0 })
  const { host, idle, garbageCollection } = measured
  t.ok(garbageCollection > 0)
  const parts = [much.cpu, little.cpu, host.cpu, idle]
  const all = parts.reduce((sum, part) => sum + part, 0)
  t.ok(Math.abs(all - 1) < 0.01, JSON.stringify({ parts }))
})
