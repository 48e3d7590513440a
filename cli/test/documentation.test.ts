import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readLockFile } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import { breakingCodes } from '@mortise/installer'
import { exitCodes } from '@mortise/installer/failures'
import t from 'tap'
import { fakeRegistry, published } from '../../packages/installer/test/fake-registry.ts'
import { commands } from '../src/commands/index.ts'
import { docPages } from './doc-pages.ts'
import { runApp, testApplication } from './run-app.ts'
import { testOnEngines } from './test-on-engines.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = join(root, 'docs')
const examples = join(docs, 'examples')

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []))
}

/** Text by path. */
async function pages(): Promise<Map<string, string>> {
  return new Map(Array.from(await docPages(), ([name, text]) => [join(docs, name), text]))
}

t.test('blocks with a file name are in that file, word for word', async (t) => {
  let quoted = 0
  for (const [page, text] of await pages()) {
    for (const [, path, block] of text.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)) {
      const file = await readFile(join(root, path as string), 'utf8')
      t.ok(file.includes(block as string), `${path} in ${page}`)
      quoted += 1
    }
  }
  t.ok(quoted > 0)
})

t.test('writing-a-module.md quotes every file of the shortest module, whole', async (t) => {
  const page = await readFile(join(docs, 'writing-a-module.md'), 'utf8')
  const files = (await filesBelow(join(examples, 'task'))).filter((file) => !file.includes('node_modules'))
  t.ok(files.length > 0)
  for (const file of files) t.ok(page.includes(`\n${await readFile(file, 'utf8')}\`\`\``), file)
})

t.test('links between pages and to files are valid', async (t) => {
  const all = await pages()
  for (const [page, text] of all) {
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)/g)) {
      const aim = join(page, '..', target as string)
      // GitHub shows a page of the repository without the reference, which has pages on the site only.
      const isThere = target === '' || existsSync(aim)
      t.ok(isThere && !aim.startsWith(join(docs, 'reference/')), `${target} in ${page}`)
    }
  }
})

t.test('SECURITY.md, linked from the README, names existing tests and verifications', async (t) => {
  const page = await readFile(join(root, 'SECURITY.md'), 'utf8')
  t.match(await readFile(join(root, 'README.md'), 'utf8'), '](SECURITY.md)')
  const rows = Array.from(page.matchAll(/^\| (?!Threat|-).*\| (.+) \|$/gm), ([, cell]) => cell as string)
  t.ok(rows.length > 20)
  for (const cell of rows) t.match(cell, /\.test\.ts`|`verify /, 'a defence that nothing holds')
  for (const [, name] of page.matchAll(/`verify ([a-z-]+)`/g)) {
    t.ok(existsSync(join(root, 'packages', 'verification', 'src', 'runs', name as string)), `verify ${name}`)
  }
  const paths = [...page.matchAll(/`([\w-]+(?:\/[\w.-]+)+)`|\]\(([^):#]+)\)/g)].map(
    ([, path, link]) => path ?? link,
  )
  for (const path of paths) t.ok(existsSync(join(root, path as string)), `${path} is there`)
})

t.test('links to headings are valid', async (t) => {
  const all = await pages()
  for (const [page, text] of all) {
    for (const [, target, anchor] of text.matchAll(/\]\(([^):#]*)#([^)]+)\)/g)) {
      const aim = target === '' ? text : (all.get(join(page, '..', target as string)) ?? '')
      const anchors = Array.from(aim.matchAll(/^#+ (.+)$/gm), ([, heading]) =>
        (heading as string)
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
      t.ok(anchors.includes(anchor as string), `${target}#${anchor} in ${page}`)
    }
  }
})

t.test('the pages name only existing commands and options', async (t) => {
  const names = new Set([...commands.flatMap(({ name, alias }) => [name, alias ?? name]), 'help'])
  const common = ['--dir', '--json', '--verbose', '--help', '--version']
  for (const [page, text] of await pages()) {
    const code = Array.from(
      text.matchAll(/`{3}sh\n([\s\S]*?)`{3}|`([^`\n]+)`/g),
      (match) => match[1] ?? match[2],
    )
    for (const snippet of code) {
      for (const [call, name] of snippet?.matchAll(/(?:^|[\s/])app ([a-z][\w-]*)[^\n&|#]*/gm) ?? []) {
        t.ok(names.has(name as string), `${call.trim()} in ${page}`)
        const command = await commands.find((one) => [one.name, one.alias].includes(name))?.load()
        const own = [
          ...(command?.options?.map(([flags]) => flags) ?? []),
          ...(command?.changes ? ['--wait'] : []),
        ]
        for (const [option] of call.matchAll(/--[a-z-]+/g)) {
          t.ok(
            [...common, ...own].some((flags) => flags.split(' ')[0] === option),
            `${option} of ${name} in ${page}`,
          )
        }
      }
    }
  }
})

t.test('the sources have all that the reference of the site needs', async (t) => {
  const names = [...(await pages()).keys()].filter((name) => name.startsWith(join(docs, 'reference/')))
  t.equal(names.length, 3)
})

t.test('the table of settings matches the code', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, '.dev/settings-table.js'), '--check'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
})

t.test('errors.md has every exit code', async (t) => {
  const page = await readFile(join(docs, 'errors.md'), 'utf8')
  const documented = Array.from(page.matchAll(/^\| (\d{1,2}) \|/gm), ([, code]) => Number(code))
  t.same(documented, [0, ...Object.values(exitCodes)])
})

t.test('the README of the SDK has every code of a breaking change', async (t) => {
  const page = await readFile(join(root, 'packages', 'module-sdk', 'README.md'), 'utf8')
  const section = page.slice(page.indexOf('## Upgrades'))
  const documented = Array.from(
    section.matchAll(/^\| (`.*?) \|/gm),
    ([, codes]) => codes?.match(/[a-z-]+/g) ?? [],
  )
  t.strictSame(documented.flat().slice(1), breakingCodes)
})

for (const example of ['task', 'note', 'picture']) {
  t.test(`the example of one module, ${example}, passes its own tests`, async (t) => {
    const { status, stdout } = spawnSync(process.execPath, ['--test'], {
      cwd: join(examples, example),
      encoding: 'utf8',
    })
    t.equal(status, 0, stdout)
    t.match(stdout, /pass [1-9]/)
  })
}

t.test('the health check of the Dockerfile uses the configured base path', async (t) => {
  const dockerfile = await readFile(join(root, 'packages/create-mortise/template/Dockerfile'), 'utf8')
  const [, command = ''] = /^HEALTHCHECK .* CMD (.*)$/m.exec(dockerfile.replaceAll('\\\n', '')) ?? []
  const { directory } = await testApplication(t)
  const check = async (environment: Readonly<Record<string, string>>) => {
    const child = spawn('sh', ['-c', command], { cwd: directory, env: { ...process.env, ...environment } })
    const [code] = await once(child, 'close')
    return code
  }
  const file = join(directory, 'app.config.json')
  const settings = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...settings, basePath: '/api' }))
  for (const environment of [{}, { APP_BASE_PATH: '/v1' }]) {
    const host = await Application.start({
      directory,
      port: 0,
      environment: { APP_LOG_LEVEL: 'silent', ...environment },
    })
    const { port: APP_SERVER_PORT } = new URL(host.url)
    t.equal(await check({ ...environment, APP_SERVER_PORT }), 0, host.url)
    t.equal(await check({ APP_BASE_PATH: '/other', APP_SERVER_PORT }), 1)
    const stopped = host.stop('SIGTERM', 3600)
    t.equal(await check({ ...environment, APP_SERVER_PORT }), 1, 'while it stops')
    await Promise.all([host.close(), stopped])
    t.equal(await check({ ...environment, APP_SERVER_PORT }), 1, 'where nothing responds')
  }
})

testOnEngines(
  'the note example can be packed by npm, installed with its dependency, and served',
  async (t, app) => {
    const { root: folder, directory, run } = app
    const ms = join(root, 'node_modules', 'ms')
    const { registry } = await fakeRegistry(t, [
      published(JSON.parse(await readFile(join(ms, 'package.json'), 'utf8')), {
        'index.js': await readFile(join(ms, 'index.js'), 'utf8'),
      }),
    ])
    process.env.npm_config_registry = registry
    const packed = spawnSync('npm', ['pack', '--pack-destination', folder], { cwd: join(examples, 'note') })
    t.equal(packed.status, 0)

    const installed = await run('module-install', '--yes', join(folder, 'acme-note-1.0.0.tgz'))
    t.equal(installed.exitCode, 0, installed.stdout)
    t.match(installed.json, { installed: [{ id: 'note', settings: ['keepFor'], tables: 'note' }] })
    const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
    t.teardown(() => host.close())
    const written = await fetch(`${host.url}/note`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"milk"}',
    })
    t.equal(written.status, 201)
    const document = (await (await fetch(`${host.url}/openapi.json`)).json()) as { paths: object }
    t.ok(Object.hasOwn(document.paths, '/note/{id}'))
  },
)

testOnEngines('the contract examples share a transaction', async (t, app) => {
  const { directory, run } = app
  const alone = await run('module-install', join(examples, 'visit'))
  t.equal(alone.exitCode, 4)
  const both = await run('module-install', '--yes', join(examples, 'visit'), join(examples, 'tally'))
  t.equal(both.exitCode, 0, both.stdout)
  t.same(Object.keys((await readLockFile(directory)).modules).sort(), ['tally', 'visit'])
  const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
  t.teardown(() => host.close())
  for (const number of [1, 2]) {
    t.same(await (await fetch(`${host.url}/visit`, { method: 'POST' })).json(), { number })
  }
  t.equal((await runApp('module-remove', 'tally', '--dir', directory, '--json')).exitCode, 4)
})
