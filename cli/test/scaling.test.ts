import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { testApplication } from './run-app.ts'
import { door, withoutDrain } from './run-process.ts'
import { databaseUrl, skipPostgres, usePostgres } from './test-on-engines.ts'

// docs/scaling.md, done line by line on machines that are folders.

/** The shell blocks below a heading of the page. */
async function blocksOf(heading: string): Promise<string[]> {
  const page = await readFile(fileURLToPath(new URL('../../docs/scaling.md', import.meta.url)), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  return Array.from(section.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => block as string)
}

/** Runs a block of the page on a machine. @returns the address of the host that it starts */
async function runBlock(t: Test, block: string, machine: string, environment: NodeJS.ProcessEnv) {
  const script = block
    .replaceAll('/srv/shop', machine)
    .replaceAll('/var/lib/mortise', join(machine, '..'))
    .replace(/'postgres:[^']+'/, '"$SEVERAL"')
  const child = spawn('sh', ['-ec', script], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = once(child, 'close')
  t.teardown(async () => {
    if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM')
    await ended
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
  while (!/Serving (\S+)\n/.test(said)) {
    const [code] = await Promise.race([ended, once(child.stdout, 'data').then(() => [undefined])])
    if (code === 0 && !script.includes('app start')) return ''
    if (code !== undefined) throw new Error(`${script}\nended with ${code}: ${said}`)
  }
  return /Serving (\S+)\n/.exec(said)?.[1] as string
}

t.test(
  'scaling.md: hosts on one database, also with several addresses',
  { skip: skipPostgres },
  async (t) => {
    const { directory, root, run } = await testApplication(t)
    await usePostgres(t, directory)
    const database = await databaseUrl(directory)
    const counter = await sampleTarball(join(root, 'counter.tgz'), {
      id: 'counter',
      manifest: { routes: ['POST /counter'], tables: 'counter', migrations: 'migrations' },
      files: {
        'migrations/001-counter.sql': 'CREATE TABLE counter (id TEXT PRIMARY KEY)',
        'migrations/001-counter.down.sql': 'DROP TABLE counter',
      },
      main: `import { respond, defineModule, newId, one, run, sql } from '@mortise/module-sdk'
      export default defineModule('counter').plugin(async (app) => {
        app.post('/counter', { config: { access: 'public' } }, (request) => request.transaction(function* () {
          yield* run(sql\`INSERT INTO counter (id) VALUES (\${newId('count')})\`)
          return respond(200, yield* one(sql\`SELECT count(*) AS count FROM counter\`))
        }))
      })`,
    })
    t.equal((await run('module-install', '--yes', counter)).exitCode, 0)

    const bin = join(root, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'app'), `#!/bin/sh\nexec "${process.execPath}" "${door}" "$@"\n`)
    await chmod(join(bin, 'app'), 0o755)
    const environment = {
      ...process.env,
      ...withoutDrain,
      PATH: [bin, process.env.PATH].join(delimiter),
      APP_SERVER_PORT: '0',
      APP_LOG_LEVEL: 'silent',
      DATABASE: database,
      SECRET: await readFile(join(directory, '.app', 'secret'), 'utf8'),
      SEVERAL: `${database.replace('@', '@127.0.0.1:1,')}&target_session_attrs=read-write`,
    }
    const [bundle = '', further = ''] = await blocksOf('Several hosts')
    const [several = ''] = await blocksOf('When the database is away')
    const second = join(root, 'second')
    await mkdir(second)

    await runBlock(t, bundle, directory, environment)
    for (const file of ['app.config.json', 'modules.lock.json']) {
      await copyFile(join(directory, file), join(second, file))
    }
    const hosts = [
      await runBlock(t, `cd /srv/shop\n${several}`, directory, environment),
      await runBlock(t, further, second, environment),
    ]
    for (const [index, host] of [...hosts, ...hosts].entries()) {
      const response = await fetch(`${host}/counter`, { method: 'POST' })
      t.same(await response.json(), { count: index + 1 })
    }
  },
)
