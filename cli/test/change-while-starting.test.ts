import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { app } from '../src/app.ts'
import { until } from './late-modules.ts'
import { copiesOf, type TestApplication } from './run-app.ts'
import { door, startApp } from './run-process.ts'

/** Waits for the file in the host alone: the probe has an empty environment. */
const passBlock = `
  const { existsSync, writeFileSync } = await import('node:fs')
  const { MORTISE_TEST_BLOCK: block } = process.env
  if (block) writeFileSync(block + '.reached', '')
  while (block && !existsSync(block)) await new Promise((done) => setTimeout(done, 20))`

const copies = copiesOf(async ({ root, run }) => {
  const gated = await sampleTarball(join(root, 'gated.tgz'), {
    id: 'gated',
    plugin: `${passBlock}
      app.get('/gated', { config: { access: 'public' } }, async () => ({}))`,
  })
  const hello = await sampleTarball(join(root, 'hello.tgz'), {
    manifest: { config: 'settings.schema.json' },
    files: {
      'settings.schema.json': JSON.stringify({
        type: 'object',
        properties: { mark: { type: 'integer', default: 0 } },
      }),
    },
    plugin: `
      app.get('/hello', { config: { access: 'public' } }, async () => ({ mark: context.settings.mark }))`,
  })
  const { exitCode, stdout } = await run('module-install', '--yes', gated, hello)
  if (exitCode !== 0) throw new Error(stdout)
})

function begun(t: Test, { root, directory }: TestApplication) {
  const block = join(root, 'block')
  const start = (environment: NodeJS.ProcessEnv = {}, ...options: string[]) =>
    startApp(t, ['start', '--port', '0', '--dir', directory, ...options], [], door, { environment })
  const urlOf = async (host: ReturnType<typeof start>) => {
    await host.says(/Serving http/)
    return /Serving (\S+)/.exec(host.stdout)?.[1] ?? ''
  }
  /** In this process: the module waits for 10 s at most. */
  const command = (...argv: string[]) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const output = text(stdout)
    let said = ''
    stderr.setEncoding('utf8').on('data', (more: string) => {
      said += more
    })
    let exitCode: number | undefined
    const ended = app([...argv, '--json', '--dir', directory], { stdin, stdout, stderr }).then(
      async (code) => {
        exitCode = code
        stdout.end()
        return { exitCode, json: JSON.parse(await output), said }
      },
    )
    return {
      ended,
      says: (pattern: RegExp) => until(() => pattern.test(said)),
      hasEnded: () => exitCode !== undefined,
    }
  }
  return {
    start,
    urlOf,
    command,
    /** A host that has read the lock file, and serves once `open` is called. */
    async starting(...options: string[]) {
      const host = start({ MORTISE_TEST_BLOCK: block }, ...options)
      await until(() => existsSync(`${block}.reached`))
      return host
    },
    open: () => writeFile(block, ''),
  }
}

for (const [argv, status, body] of [
  [['module-disable', 'hello'], 404, undefined],
  [['config', 'set', 'hello.mark', '2'], 200, { mark: 2 }],
] as const) {
  t.test(`app ${argv.join(' ')} waits for a host that starts, and the host serves it`, async (t) => {
    const { starting, urlOf, command, open } = begun(t, await copies(t))
    const host = await starting()
    const changing = command(...argv)
    await changing.says(/The host is starting\. Waiting for it\./)
    t.notOk(changing.hasEnded())
    await open()
    t.match(await changing.ended, { exitCode: 0, json: { live: true } })
    const response = await fetch(`${await urlOf(host)}/hello`)
    t.equal(response.status, status)
    if (body) t.same(await response.json(), body)
  })
}

t.test('a change beside a host that dies while it starts is served by the next one', async (t) => {
  const { starting, start, urlOf, command, open } = begun(t, await copies(t))
  const host = await starting()
  const changing = command('module-disable', 'hello')
  await changing.says(/The host is starting/)
  host.child.kill('SIGKILL')
  t.match(await changing.ended, { exitCode: 0, json: { live: false } })
  await open()
  t.equal((await fetch(`${await urlOf(start())}/hello`)).status, 404)
})

t.test('a command beside a host that is frozen while it starts does not succeed', async (t) => {
  const { starting, urlOf, command, open } = begun(t, await copies(t))
  const host = await starting('--no-supervisor')
  host.child.kill('SIGSTOP')
  const { exitCode } = await command('module-disable', 'hello').ended
  t.not(exitCode, 0)
  await open()
  host.child.kill('SIGCONT')
  t.equal((await fetch(`${await urlOf(host)}/hello`)).status, 200)
})

t.test('a change beside a host that stops is served by the next one', async (t) => {
  const application = await copies(t)
  const { start, urlOf } = begun(t, application)
  const host = start()
  await urlOf(host)
  host.child.kill('SIGTERM')
  await host.says(/stopping: SIGTERM/)
  t.match(await application.run('module-disable', 'hello'), { exitCode: 0, json: { live: false } })
  t.equal(await host.ended, 0)
  t.equal((await fetch(`${await urlOf(start())}/hello`)).status, 404)
})
