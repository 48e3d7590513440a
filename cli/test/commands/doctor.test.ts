import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  configFile,
  hashTree,
  identityProblems,
  lockFilePath,
  readLockFile,
  readPackage,
  secretFile,
  storedModule,
  writeLockFile,
} from '@mortise/application'
import { controlSocket } from '@mortise/host'
import { withCommandLock, writeJournal } from '@mortise/installer/changes'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type SampleOptions, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { interruptedChange } from '../interrupted-change.ts'
import { copiesOf, runApp, type TestApplication, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const withTable: SampleOptions = {
  manifest: { tables: 'hello', migrations: 'migrations' },
  files: {
    'migrations/001-hello.sql': 'CREATE TABLE hello (id INTEGER PRIMARY KEY, up INTEGER REFERENCES hello);',
  },
}

async function installHello({ root, run }: TestApplication, options: SampleOptions): Promise<void> {
  const file = await sampleTarball(join(root, 'hello.tgz'), options)
  const installed = await run('module-install', '--yes', file)
  if (installed.exitCode !== 0) throw new Error(installed.stdout)
}

const applicationWithTable = copiesOf((application) => installHello(application, withTable))

/** An application with the module `hello`; `findings` are what doctor finds, by id. */
async function withHello(t: Test, options?: SampleOptions) {
  const application = await (options ? testApplication(t) : applicationWithTable(t))
  if (options !== undefined) await installHello(application, options)
  const { run, directory } = application
  const doctor = async (...argv: string[]) => {
    const { exitCode, json } = await run('doctor', ...argv)
    return { exitCode, findings: json.findings as { id: string; severity: string; fixed: boolean }[] }
  }
  /** Finds exactly `id`, fixes it, and finds nothing afterwards. */
  const fixes = async (id: string, t: Test) => {
    t.match(await doctor(), { exitCode: 1, findings: [{ id, fixed: false }] }, `${id} is found`)
    const fixed = await doctor('--fix')
    t.match(fixed, { exitCode: 0, findings: [{ id, fixed: true }] }, `${id} is fixed`)
    t.equal(fixed.findings.length, 1)
    t.strictSame(await doctor(), { exitCode: 0, findings: [] }, `${id} is gone`)
  }
  const stored = async () => {
    const { hello } = (await readLockFile(directory)).modules
    if (!hello) throw new Error('hello is not installed')
    return storedModule(directory, hello)
  }
  return { ...application, doctor, fixes, stored, database: join(directory, 'data', 'app.db') }
}

t.test('a new, an installed and a running application have no findings', async (t) => {
  const { directory, run, doctor } = await withHello(t)
  t.strictSame(await doctor(), { exitCode: 0, findings: [] })
  t.match((await run('module-list')).json, { url: null, retainedPackages: null })
  await runningHost(t, directory)
  t.strictSame(await doctor(), { exitCode: 0, findings: [] })
  t.strictSame(await doctor('--fix'), { exitCode: 0, findings: [] })
  t.match((await run('module-list')).json, { retainedPackages: 0 })
  await run('module-remove', 'hello')
  t.match((await run('module-list')).json, { retainedPackages: 1, modules: [] })
  t.strictSame(await doctor(), { exitCode: 0, findings: [] }, 'one is not worth a word')
})

t.test('missing and altered packages are downloaded again', async (t) => {
  const { fixes, stored } = await withHello(t)
  await writeFile(join(await stored(), 'index.js'), 'process.exit(1)')
  await fixes('package-damaged', t)
  await rm(await stored(), { recursive: true })
  await fixes('package-missing', t)
})

t.test('a package that cannot be downloaded again is reported with the reason', async (t) => {
  const { doctor, stored, root } = await withHello(t)
  await rm(await stored(), { recursive: true })
  await rm(join(root, 'hello.tgz'))
  t.match(await doctor('--fix'), {
    exitCode: 1,
    findings: [{ id: 'package-missing', fixed: false, hint: /^The fix failed: .*hello\.tgz/ }],
  })
})

t.test('a running host applies restored packages', async (t) => {
  const { directory, doctor, stored } = await withHello(t)
  await writeFile(join(await stored(), 'index.js'), 'nonsense(')
  const running = await runningHost(t, directory)
  t.match((await doctor()).findings, [{ id: 'package-damaged' }, { id: 'module-failed' }])
  t.match(await doctor('--fix'), { exitCode: 0, findings: [{ id: 'package-damaged', fixed: true }] })
  t.match(await get(running, '/hello'), { status: 200 })
})

t.test('doctor completes or removes the remains of killed commands', async (t) => {
  const { directory, fixes } = await withHello(t)
  await mkdir(join(directory, '.app', 'store', '.staging-0123'))
  await fixes('leftovers', t)
  await writeFile(`${configFile(directory)}.1234.tmp`, '')
  await fixes('leftovers', t)
  await mkdir(join(directory, '.app', 'store', '@acme+gone@1.0.0-0000'))
  await fixes('store-unused', t)

  const previous = await readLockFile(directory)
  const next = { ...previous, generation: previous.generation + 1, modules: {} }
  await writeJournal(directory, interruptedChange('module-remove hello', previous, next))
  await fixes('interrupted', t)
  t.strictSame((await readLockFile(directory)).modules, {})
})

t.test('a disk below the limit is a finding, and the limit is a setting', async (t) => {
  const { doctor, run } = await withHello(t)
  await run('config', 'set', 'storage.minFreeBytes', `${Number.MAX_SAFE_INTEGER}`)
  t.match(await doctor(), { exitCode: 1, findings: [{ id: 'storage-full', severity: 'error' }] })
  await run('config', 'set', 'storage.minFreeBytes', '0')
  t.strictSame(await doctor(), { exitCode: 0, findings: [] })
})

t.test('only the owner may read the secret', async (t) => {
  const { directory, doctor, fixes } = await withHello(t)
  await chmod(secretFile(directory), 0o644)
  await fixes('secret-mode', t)
  t.equal((await stat(secretFile(directory))).mode & 0o777, 0o600)
  await rm(secretFile(directory))
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'secret-missing', fixed: false }] })
})

t.test('the control socket of a killed host is removed', async (t) => {
  const { directory, fixes } = await withHello(t)
  const socket = controlSocket(directory)
  await mkdir(join(socket, '..'), { recursive: true })
  await writeFile(socket, '')
  await fixes('control-socket', t)
})

t.test('an invalid configuration is a finding', async (t) => {
  const { directory, doctor } = await withHello(t, {
    manifest: { config: 'config.json' },
    files: {
      'config.json':
        '{"type":"object","properties":{"most":{"type":"integer"}},"additionalProperties":false}',
    },
  })
  const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const configured = async (more: object) => {
    await writeFile(configFile(directory), JSON.stringify({ ...config, ...more }))
    return doctor('--fix')
  }
  t.match(await configured({ prot: 1 }), {
    exitCode: 1,
    findings: [{ id: 'config-invalid', severity: 'error', message: /"prot"/ }],
  })
  t.match(await configured({ modules: { hello: { most: 'x' } } }), {
    exitCode: 1,
    findings: [{ id: 'settings-invalid', message: /"modules\.hello\.most" must be an integer/ }],
  })
  t.match(await configured({ modules: { gone: {} } }), {
    exitCode: 0,
    findings: [{ id: 'settings-unused', severity: 'info' }],
  })
  process.env.APP_SERVER_PROT = '80'
  t.teardown(() => delete process.env.APP_SERVER_PROT)
  t.match(await configured({}), {
    exitCode: 1,
    findings: [{ id: 'unknown-variable', message: /APP_SERVER_PROT/ }],
  })
})

t.test(
  'a broken lock file is the only finding about modules, and doctor restores it from its record',
  async (t) => {
    const { directory, doctor, stored } = await withHello(t)
    const place = await stored()
    const previous = await readFile(lockFilePath(directory), 'utf8')
    await writeFile(lockFilePath(directory), '<<<<<<< ours')
    t.match(await doctor(), { exitCode: 1, findings: [{ id: 'lock-lost', fixed: false }] })
    t.match(await doctor('--fix'), { exitCode: 0, findings: [{ id: 'lock-lost', fixed: true }] })
    t.equal(await readFile(lockFilePath(directory), 'utf8'), previous)
    t.equal(await readFile(join(directory, '.app', 'modules.lock.json.broken'), 'utf8'), '<<<<<<< ours')
    t.ok(await stat(place))
  },
)

t.test('without a record, a lost lock file stays lost and nothing is removed', async (t) => {
  const { directory, doctor, stored } = await withHello(t)
  const place = await stored()
  await rm(lockFilePath(directory))
  await rm(join(directory, '.app', 'generations'), { recursive: true })
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'lock-lost', fixed: false }] })
  t.ok(await stat(place))
})

t.test('the schema is compared with the packages', async (t) => {
  const { directory, doctor, fixes, database } = await withHello(t)
  const edit = (sql: string) => {
    const opened = new SqliteDatabase(database)
    opened.pragma('foreign_keys = OFF')
    opened.exec(sql)
    opened.close()
  }
  edit(
    `INSERT INTO mortise_migration (module, name, checksum, applied_at, tables) VALUES ('hello', '002-more', 'x', 1, 'hello')`,
  )
  t.match(await doctor(), { exitCode: 0, findings: [{ id: 'schema-ahead', severity: 'info' }] })
  edit(`DELETE FROM mortise_migration WHERE name = '002-more'`)
  edit(`UPDATE mortise_migration SET checksum = checksum || 'x' WHERE module = 'hello'`)
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'migrations-differ', fixed: false }] })
  edit(`DELETE FROM mortise_migration WHERE module = 'hello'; DROP TABLE hello`)
  await fixes('migrations-pending', t)

  edit('INSERT INTO hello (id, up) VALUES (1, 7)')
  await runningHost(t, directory)
  t.match(await doctor('--fix'), {
    exitCode: 1,
    findings: [{ id: 'database-orphans', message: /1 rows of the table hello/, fixed: false }],
  })
  t.match(await doctor('--quick'), { exitCode: 0, findings: [] }, 'not the rows')
})

t.test('an application of a development version is refused, with what to do', async (t) => {
  const { run, doctor, database } = await withHello(t)
  const file = new SqliteDatabase(database)
  file.exec(`UPDATE mortise_migration SET name = '001-guest' WHERE name = '001-host'`)
  file.close()
  const message = /a development version before 1.0 made this application.* make a new application/
  for (const words of [['start'], ['audit'], ['module-remove', '--purge', 'hello', '--yes']]) {
    const { exitCode, json } = await run(...words)
    t.match({ exitCode, ...json.error }, { exitCode: 2, code: 'database-unfit', message }, words.join(' '))
  }
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'database-unfit', message, fixed: false }] })
})

t.test('a database with mostly free pages is reported, with the way to free them', async (t) => {
  const { doctor, database } = await withHello(t)
  const file = new SqliteDatabase(database)
  file.exec(`CREATE TABLE hello_large (bytes BLOB); INSERT INTO hello_large VALUES (zeroblob(20000000))`)
  t.match(await doctor(), { exitCode: 0, findings: [] })
  file.exec('DELETE FROM hello_large')
  file.close()
  t.match(await doctor(), {
    exitCode: 0,
    findings: [
      { id: 'database-sparse', severity: 'info', message: /^19 MiB of the \d+ MiB/, hint: /VACUUM/ },
    ],
  })
})

t.test('a damaged database is reported and not changed', async (t) => {
  const { doctor, database } = await withHello(t)
  await rm(`${database}-wal`, { force: true })
  await writeFile(database, 'no database at all, however long it may be. '.repeat(50))
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'database-damaged', fixed: false }] })
  t.match(await readFile(database, 'utf8'), /^no database/)
})

t.test('a module outside the host range, or without its contract, is a finding', async (t) => {
  const { directory, doctor, stored } = await withHello(t)
  const { hello } = (await readLockFile(directory)).modules
  if (!hello) throw new Error('hello is not installed')
  const place = await stored()
  const { manifest } = await readPackage(place)
  const json = JSON.parse(await readFile(join(place, 'package.json'), 'utf8'))
  const mortise = { ...manifest, host: '^99.0.0', requires: { stock: '^1.0.0' } }
  await writeFile(join(place, 'package.json'), JSON.stringify({ ...json, mortise }))
  const changed = { ...hello, tree: await hashTree(place) }
  await rename(place, storedModule(directory, changed))
  await writeLockFile(directory, { ...(await readLockFile(directory)), modules: { hello: changed } })
  const findings = [{ id: 'lock-changed' }, { id: 'host-range' }, { id: 'contract-missing' }]
  t.match(await doctor(), { exitCode: 1, findings })
})

t.test('a host that missed a change is a finding, and --fix activates the change', async (t) => {
  const attempts = globalThis as { helloAttempts?: number; helloFails?: boolean }
  const plugin = `
    globalThis.helloAttempts = (globalThis.helloAttempts ?? 0) + 1
    if (globalThis.helloFails) throw new Error('not now')
    app.get('/hello', { config: { access: 'public' } }, async () => ({}))`
  const { directory, doctor } = await withHello(t, { plugin })
  const running = await runningHost(t, directory)
  const lock = await readLockFile(directory)
  const before = attempts.helloAttempts
  attempts.helloFails = true
  await writeLockFile(directory, { ...lock, generation: lock.generation + 1 })
  // The host tries by itself, once.
  while (attempts.helloAttempts === before) await nextTurn()
  t.match(await doctor(), { exitCode: 1, findings: [{ id: 'generation-behind', fixed: false }] })
  attempts.helloFails = false
  t.match(await doctor('--fix'), { exitCode: 0, findings: [{ id: 'generation-behind', fixed: true }] })
  t.equal(running.state().generation, lock.generation + 1)
  t.strictSame(await doctor(), { exitCode: 0, findings: [] })
})

t.test('doctor works during another command, and doctor --fix is busy', async (t) => {
  const { directory, run } = await withHello(t)
  await withCommandLock(directory, 'nothing', async () => {
    await mkdir(join(directory, '.app', 'store', '.staging-of-that-command'))
    t.match(await run('doctor'), {
      exitCode: 0,
      json: { findings: [{ id: 'command-running', severity: 'info', message: /app nothing/ }] },
    })
    t.equal((await run('doctor')).json.findings.length, 1, 'what is under way is no finding')
    t.match(await run('doctor', '--fix'), { exitCode: 6, json: { error: { code: 'busy' } } })
  })
})

t.test('a stored package with a wrong version is a finding, and does not start', async (t) => {
  const { directory, doctor } = await withHello(t)
  const lock = await readLockFile(directory)
  const { hello } = lock.modules
  if (!hello) throw new Error('hello is not installed')
  const edited = { ...hello, version: '9.0.0' }
  await rename(storedModule(directory, hello), storedModule(directory, edited))
  await writeLockFile(directory, { ...lock, modules: { hello: edited } })
  const findings = [{ id: 'lock-changed' }, { id: 'lock-differs', message: /9\.0\.0/ }]
  t.match(await doctor(), { exitCode: 1, findings })
  const { url } = await runningHost(t, directory)
  t.equal((await fetch(`${url}/hello`)).status, 503)
})

t.test('an unreadable audit record does not block the others', async (t) => {
  const { directory, run, fixes } = await withHello(t)
  const file = join(directory, '.app', 'audit', 'audit_x.json')
  await writeFile(file, 'x')
  const { json, stderr } = await run('audit')
  t.match(json.records, [{ action: 'module-install' }])
  t.match(stderr, `Skipped a record: ${file} is not JSON`)
  await fixes('file-unreadable', t)
})

t.test('on a terminal each finding has a hint', async (t) => {
  const { directory } = await withHello(t)
  await chmod(secretFile(directory), 0o644)
  const { exitCode, stdout, stderr } = await runApp('doctor', '--dir', directory)
  t.equal(exitCode, 1)
  t.match(stdout, /^error: secret-mode\n {2}.*can be read by others.*\n {2}Run chmod 600/)
  t.match(stderr, /Findings that need attention: 1\./)
})

t.test('docs/errors.md lists exactly the findings', async (t) => {
  const source = fileURLToPath(new URL('../../../packages/installer/src/doctor/', import.meta.url))
  const texts = await Promise.all((await readdir(source)).map((file) => readFile(join(source, file), 'utf8')))
  const ids = texts.flatMap((text) =>
    Array.from(text.matchAll(/\bid: (?:'([a-z-]+)'|\w+ \? '([a-z-]+)' : '([a-z-]+)')/g), (match) =>
      match.slice(1),
    ),
  )
  const page = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('### What `app doctor` finds')).match(/^\|.*\|$/gm) ?? []
  const documented = table.flatMap((row) =>
    Array.from(row.split('|')[1]?.matchAll(/`([a-z-]+)`/g) ?? [], ([, id]) => id),
  )
  t.strictSame(
    documented.sort(),
    [...new Set([...ids.flat().filter((id) => id !== undefined), ...identityProblems])].sort(),
  )
})

t.test('tables that another program has changed are found', async (t) => {
  const { doctor, run, database: file } = await withHello(t)
  const database = new SqliteDatabase(file)
  database.exec('ALTER TABLE hello DROP COLUMN up')
  database.close()
  t.match(await doctor('--fix'), { exitCode: 1, findings: [{ id: 'tables-changed', severity: 'error' }] })
  const { json } = await run('doctor')
  t.match(json.findings[0].message, /tables of hello differ.*the column "up" of "hello" is missing/)
})
