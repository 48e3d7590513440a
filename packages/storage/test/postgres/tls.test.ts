import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { one, sql } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { startPostgres } from './start-postgres.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const skip = hasOpenssl ? false : 'openssl is missing: apt-get install openssl'

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** A certificate authority in a folder of its own. */
class Authority {
  readonly #folder: string

  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#openssl('req', '-x509', ...KEY, '-subj', `/CN=${name}`, '-keyout', 'root.key', '-out', 'root.crt')
  }

  get file(): string {
    return join(this.#folder, 'root.crt')
  }

  /** A certificate for the machine of this name. */
  certify(name: string): { certificate: string; key: string } {
    this.#openssl('req', ...KEY, '-subj', `/CN=${name}`, '-keyout', 'server.key', '-out', 'server.csr')
    writeFileSync(join(this.#folder, 'names'), `subjectAltName=DNS:${name}`)
    const signed = ['-CA', 'root.crt', '-CAkey', 'root.key', '-CAcreateserial', '-extfile', 'names']
    this.#openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt')
    const read = (file: string) => readFileSync(join(this.#folder, file), 'utf8')
    return { certificate: read('server.crt'), key: read('server.key') }
  }

  #openssl(...args: string[]): void {
    const { status, stderr } = spawnSync('openssl', args, { cwd: this.#folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`)
  }
}

/** Whether a host that opens this database talks to it encrypted. */
async function isEncrypted(t: Test, url: string): Promise<boolean> {
  const storage = await openStorage({ url, onFatal: t.fail })
  const sessions = sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
  const read = await storage.one<{ ssl: number }>(sessions)
  const written = await storage.transaction(() => one<{ ssl: number }>(sessions))
  await storage.close()
  t.equal(read.ssl, written.ssl)
  return read.ssl === 1
}

t.test('the certificate of the server is checked as sslmode says', { skip }, async (t) => {
  const folders = t.testdir({ own: {}, strange: {} })
  const own = new Authority(join(folders, 'own'), 'own')
  const strange = new Authority(join(folders, 'strange'), 'strange')
  const server = await startPostgres({ durable: false, tls: own.certify('localhost') })
  t.teardown(() => server.stop())
  const byAddress = server.url
  const byName = server.url.replace('127.0.0.1', 'localhost')

  t.equal(await isEncrypted(t, `${byName}?sslrootcert=${own.file}`), true)
  t.equal(await isEncrypted(t, `${byAddress}?sslmode=require`), true)
  t.equal(await isEncrypted(t, `${byName}?sslmode=disable`), false)
  t.equal(await isEncrypted(t, byName), false, 'on this machine nothing has to be said')
  for (const [url, reason] of [
    [`${byAddress}?sslrootcert=${own.file}`, /127\.0\.0\.1 is not in the cert's list/],
    [`${byName}?sslrootcert=${strange.file}`, /its certificate has an unknown issuer .*sslrootcert$/],
    [`${byName}?sslmode=verify-full`, /its certificate has an unknown issuer .*sslrootcert$/],
  ] as const) {
    const error = await openStorage({ url, onFatal: t.fail }).then(t.fail, (error) => error)
    t.match(error, { name: 'StorageUnreachableError', message: reason })
  }
})

t.test('another certificate and authority of the server are taken up', { skip }, async (t) => {
  const folders = t.testdir({ first: {}, second: {} })
  const [first, second] = ['first', 'second'].map((name) => new Authority(join(folders, name), name)) as [
    Authority,
    Authority,
  ]
  const server = await startPostgres({ durable: false, tls: first.certify('localhost') })
  t.teardown(() => server.stop())
  const [{ data }] = (await server.query(`SELECT current_setting('data_directory') AS data`)).rows
  const roots = join(folders, 'roots.crt')
  writeFileSync(roots, readFileSync(first.file))
  const url = `${server.url.replace('127.0.0.1', 'localhost')}?sslrootcert=${roots}`
  const storage = await openStorage({ url, onFatal: t.fail, renewUrl: async () => url })
  t.teardown(() => storage.close())
  const present = async () => (await storage.one<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`)).pid
  /** New connections see the change. */
  const change = async () => {
    const { certificate, key } = second.certify('localhost')
    writeFileSync(join(data, 'server.crt'), certificate)
    writeFileSync(join(data, 'server.key'), key)
    await server.query('SELECT pg_reload_conf()')
    while (await isEncrypted(t, `${url}&connection_limit=4`).catch(() => false)) await pause(20)
  }
  const others = `application_name LIKE 'mortise%'`
  const end = () => server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`)

  const before = await present()
  await change()
  t.equal(await present(), before, 'open connections serve')
  await end()
  while (storage.trouble === undefined) await present().catch(() => pause(20))
  t.match(storage.trouble, /its certificate has an unknown issuer/)

  writeFileSync(roots, [readFileSync(first.file), readFileSync(second.file)].join('\n'))
  while (storage.trouble !== undefined) await pause(20)
  t.not(await present(), before, 'the file is read again')
  writeFileSync(roots, readFileSync(second.file))
  await end()
  let found: number | undefined
  while (found === undefined) found = await present().catch(() => pause(20, undefined))
  t.equal(storage.trouble, undefined, 'without the first authority, too')
  t.equal(await isEncrypted(t, url), true)
})

t.test(
  'channel_binding=require sends no password to a server that cannot prove itself',
  { skip },
  async (t) => {
    const own = new Authority(t.testdir({}), 'own')
    const server = await startPostgres({ durable: false, tls: own.certify('localhost') })
    t.teardown(() => server.stop())
    const url = `${server.url}?sslmode=require&channel_binding=require`
    const refused = {
      name: 'StorageUnreachableError',
      message: /channel_binding=require, and the server does not offer SCRAM-SHA-256-PLUS/,
    }
    await t.rejects(openStorage({ url, onFatal: t.fail }), refused, 'it wants the password as it is')
    const [{ file }] = (await server.query(`SELECT current_setting('hba_file') AS file`)).rows
    for (const [method, accepts] of [
      ['scram-sha-256', true],
      ['trust', false],
    ] as const) {
      writeFileSync(file, `host all all 127.0.0.1/32 ${method}\n`)
      const loaded = async () => (await server.query('SELECT pg_conf_load_time()::text AS at')).rows[0].at
      const before = await loaded()
      await server.query('SELECT pg_reload_conf()')
      while ((await loaded()) === before) {}
      if (accepts) t.equal(await isEncrypted(t, url), true)
      else await t.rejects(openStorage({ url, onFatal: t.fail }), refused)
    }
  },
)

t.test('a server without TLS is refused if sslmode needs encryption', async (t) => {
  const server = await startPostgres({ durable: false })
  t.teardown(() => server.stop())
  await t.rejects(openStorage({ url: `${server.url}?sslmode=require`, onFatal: t.fail }), {
    name: 'StorageUnreachableError',
    message: /does not support SSL/,
  })
})
