import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'

const endless = '^(a+)+$'
const text = `${'a'.repeat(40)}!`
const settings = (name: object, more: object = {}) => ({
  manifest: { config: { type: 'object', properties: { name }, ...more } },
})

/** Each refers twice to the next. */
const doubled = Object.fromEntries(
  Array.from({ length: 26 }, (_, at) => {
    const next = { $ref: `#/$defs/d${at + 1}` }
    return [`d${at}`, at === 25 ? { type: 'string' } : { type: 'object', properties: { a: next, b: next } }]
  }),
)

t.test(
  'a default that its pattern never finishes refuses the module, and stops no other command',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const file = await sampleTarball(
      join(root, 'hello.tgz'),
      settings({ type: 'string', pattern: endless, default: text }),
    )
    t.match(await run('module-install', 'api-cart'), { exitCode: 0 })
    const planning = startApp(t, [
      'module-install',
      file,
      '--dry-run',
      '--wait',
      '--json',
      '--dir',
      directory,
    ])
    let isOver = false
    void planning.ended.then(() => {
      isOver = true
    })
    while (!isOver) t.equal((await run('module-remove', 'none')).exitCode, 0, 'a dry run holds no lock')
    t.equal(await planning.ended, 4)
    t.match(JSON.parse(planning.stdout), {
      error: { code: 'invalid-settings', message: /takes more than 3 s/ },
    })
    t.match(await run('module-install', file, '--yes'), { exitCode: 4 })
    t.equal((await readLockFile(directory)).generation, 1)
  },
)

t.test('a value that a pattern never finishes is refused', async (t) => {
  const { root, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), settings({ type: 'string', pattern: endless }))
  t.match(await run('module-install', file, '--yes'), { exitCode: 0 })
  t.match(await run('config', 'set', 'hello.name', text), {
    exitCode: 2,
    json: { error: { message: /"modules\.hello" takes more than 3 s/ } },
  })
  t.match(await run('config', 'set', 'hello.name', 'aaa'), { exitCode: 0, json: { value: 'aaa' } })
})

t.test(
  'references that double are listed up to a limit, and names match no pattern of a stranger',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const name = { type: 'object', patternProperties: { [endless]: { type: 'number' } } }
    const groups = {
      manifest: {
        config: { type: 'object', $defs: doubled, properties: { name, group: { $ref: '#/$defs/d0' } } },
      },
    }
    t.match(await run('module-install', await sampleTarball(join(root, 'hello.tgz'), groups), '--yes'), {
      exitCode: 0,
    })
    const all = await run('config', 'get', 'hello')
    t.equal(all.exitCode, 0)
    t.ok(all.json.settings.length <= 2000, String(all.json.settings.length))
    t.match(await run('config', 'get', `hello.name.${text}`), { exitCode: 0, json: { value: null } })
    t.match(await run('config', 'get'), { exitCode: 0 })
    t.match(await run('doctor'), { json: { findings: Array } })
    t.match(await run('module-list'), { exitCode: 0 })
    t.equal((await readLockFile(directory)).generation, 1)
  },
)

t.test('a signal ends a command that waits for the evaluation', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(
    join(root, 'hello.tgz'),
    settings({ type: 'string', pattern: endless, default: text }),
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const installing = startApp(t, ['module-install', file, '--yes', '--dir', directory])
    let isOver = false
    void installing.ended.then(() => {
      isOver = true
    })
    while (!isOver && (await run('module-remove', 'none')).exitCode !== 6) await setTimeout(20)
    t.notOk(isOver)
    installing.child.kill(signal)
    t.not(await installing.ended, 4, signal)
    t.not((await run('module-remove', 'none')).exitCode, 6)
  }
})
