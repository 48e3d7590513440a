import { join } from 'node:path'
import { databaseAddress, readConfig } from '@mortise/application'
import { openStorage, runWithoutHost } from '@mortise/host'
import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'
import { testOnEngines } from '../test-on-engines.ts'

/** As if modules had failed on these events; each is of the subject that its id begins with. */
async function failOn(
  directory: string,
  ...failed: [module: string, event: string, state: 'waiting' | 'dead'][]
) {
  await runWithoutHost(directory, 'migrate', { modules: {} })
  const storage = await openStorage({
    ...databaseAddress(await readConfig(directory)),
    onFatal: (error) => {
      throw error
    },
  })
  await storage.transaction(function* () {
    for (const [position, [module, id, state]] of failed.entries()) {
      const subject = id.slice(0, 1)
      const event = JSON.stringify({ id, type: 'note.added', subject, position })
      yield* run(sql`
        INSERT INTO mortise_subscription (name, position, holder, held_until) VALUES (${module}, 0, '', 0)
        ON CONFLICT DO NOTHING`)
      yield* run(sql`
        INSERT INTO mortise_failed_event (subscription, position, event_id, subject, event, attempts, next_at, state, error)
        VALUES (${module}, ${position}, ${id}, ${subject}, ${event}, 3, ${state === 'dead' ? null : Date.UTC(2100)},
          ${state}, ${'Error: no\nluck'})`)
    }
  })
  await storage.close()
}

testOnEngines(
  'failed events can be listed, replayed and discarded with and without a host',
  async (t, app) => {
    const { directory, run } = app
    await failOn(
      directory,
      ['mailer', 'a1', 'dead'],
      ['mailer', 'a2', 'waiting'],
      ['biller', 'a1', 'dead'],
      ['biller', 'b1', 'dead'],
    )
    const events = async () => {
      const { exitCode, json } = await run('events')
      t.equal(exitCode, 0)
      return json
    }
    const first = await events()
    t.match(first.subscriptions, [
      { module: 'biller', waiting: 0, dead: 2 },
      { module: 'mailer', waiting: 1, dead: 1 },
    ])
    t.strictSame(first.failed[0], {
      module: 'mailer',
      event: 'a1',
      type: 'note.added',
      subject: 'a',
      state: 'dead',
      attempts: 3,
      error: 'Error: no\nluck',
      nextAttemptAt: null,
    })
    t.match(first.failed[1], { event: 'a2', state: 'waiting', nextAttemptAt: '2100-01-01T00:00:00.000Z' })
    t.equal((await run('events', '--limit', '1')).json.failed.length, 1)
    const found = await runApp('doctor', '--dir', directory)
    t.equal(found.exitCode, 1)
    t.match(found.stdout, /warning: dead-letters\n {2}biller has failed on 2 events .*\n.*--module biller/)

    const one = await run('events', 'replay', 'a1', '--module', 'mailer')
    t.match(one, { exitCode: 0, json: { replayed: [{ module: 'mailer', event: 'a1' }] } })
    t.equal(one.json.replayed.length, 1)
    const [a1, a2] = (await events()).failed
    t.match(a1, { event: 'a1', state: 'waiting', attempts: 0 })
    t.ok(Date.parse(a1.nextAttemptAt) <= Date.now() + 1_000)
    t.match(a2, { event: 'a2', nextAttemptAt: null }, 'it comes after the earlier one of its subject')

    await runningHost(t, directory)
    t.match(await run('events', 'discard', 'b1'), {
      exitCode: 0,
      json: { discarded: [{ module: 'biller' }] },
    })
    t.match((await run('audit')).json.records, [
      { action: 'discard', object: 'b1', details: { modules: ['biller'], type: 'note.added', subject: 'b' } },
    ])
    for (const action of ['discard', 'replay']) {
      t.match(await run('events', action, 'b1'), {
        exitCode: 3,
        json: { error: { code: 'no-failed-event' } },
      })
    }
    t.equal((await run('events', 'replay', '--all')).json.replayed.length, 3)
    t.match((await events()).subscriptions, [
      { module: 'biller', waiting: 1, dead: 0 },
      { module: 'mailer', waiting: 2, dead: 0 },
    ])
  },
)

t.test('the output has one line per module and one per failure', async (t) => {
  const { directory, run } = await testApplication(t)
  t.match(await runApp('events', '--dir', directory), { stdout: 'No module handles events.\n' })
  t.match((await run('events')).json, { subscriptions: [], failed: [] })
  await failOn(directory, ['mailer', 'a1', 'dead'], ['mailer', 'a2', 'waiting'])
  const { stdout } = await runApp('events', '--dir', directory)
  t.equal(
    stdout,
    `mailer  0 behind  1 waiting  1 dead  not installed

a1  note.added  a  mailer  3 failed  dead                            Error: no?luck
a2  note.added  a  mailer  3 failed  again 2100-01-01T00:00:00.000Z  Error: no?luck

Next: app events replay <event>, or app events discard <event>
`,
  )
  const calls = [
    ['replay'],
    ['discard'],
    ['discard', 'a1', '--all'],
    ['replay', 'a1', '--all'],
    ['--all'],
    ['remedy', 'a1'],
    ['--module', 'mailer'],
    ['replay', '--all', '--limit', '3'],
  ]
  for (const call of calls) {
    t.match(await run('events', ...call), { exitCode: 2, json: { error: { code: 'usage' } } }, call.join(' '))
  }
  for (const call of [
    ['replay', '--all'],
    ['discard', 'a1'],
  ]) {
    t.match(
      await run('events', ...call, '--module', 'nobody'),
      { exitCode: 3, json: { error: { code: 'no-such-module' } } },
      call.join(' '),
    )
  }
  t.match(
    (await runApp('events', 'replay', 'a1', '--dir', directory)).stdout,
    /mailer is not installed: it retries/,
  )
  t.match((await runApp('events', '--dir', directory)).stdout, / 0 failed {2}due now /)
})

t.test(
  'the plan lists the events that a module listens to, and a purge deletes the cursor of the module',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const file = await sampleTarball(join(root, 'note.tgz'), {
      id: 'note',
      manifest: { routes: [], listensTo: ['*', 'note.added'] },
      plugin: `context.on('note.added', function* () {})`,
    })
    const installed = await run('module-install', '--yes', file)
    t.match(installed, { exitCode: 0, json: { installed: [{ listensTo: ['*', 'note.added'] }] } })
    t.match(installed.stderr, /note listens to note\.added, which no installed module emits\. /)
    t.match(
      (await runApp('module-info', 'note', '--dir', directory)).stdout,
      / listens to {2}all events\n +note\.added\n/,
    )
    const host = await runningHost(t, directory)
    t.match((await run('events')).json.subscriptions, [{ module: 'note', behind: 0 }])
    await run('module-remove', 'note')
    t.equal((await run('events')).json.subscriptions.length, 1)
    t.match(await run('module-remove', 'note', '--purge'), { exitCode: 0 })
    t.strictSame((await run('events')).json.subscriptions, [])
    await host.close()
  },
)
