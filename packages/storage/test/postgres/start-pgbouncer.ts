import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'

/** Why PgBouncer cannot be tried here; false if it can. */
export const skipPgbouncer =
  spawnSync('pgbouncer', ['--version']).status !== 0 &&
  'PgBouncer is not installed: apt-get install pgbouncer'

/**
 * Starts a PgBouncer in front of a server.
 * @param settings of its section [pgbouncer]
 * @returns the server's URL, by this way
 */
export async function startPgbouncer(
  t: { teardown(cleanUp: () => unknown): unknown },
  serverUrl: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<string> {
  const server = new URL(serverUrl)
  const folder = await mkdtemp(join(tmpdir(), 'mortise-pgbouncer-'))
  await chmod(folder, 0o711)
  const port = await freePort()
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    auth_type: 'any',
    unix_socket_dir: '',
    ...settings,
  }
  const database = server.pathname.slice(1)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    [
      '[databases]',
      `${database} = host=127.0.0.1 port=${server.port} user=${server.username} password=${server.password}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
    ].join('\n'),
    { mode: 0o644 },
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const running: ChildProcess = spawn('pgbouncer', [...user, '-q', file], { stdio: 'ignore' })
  const ended = once(running, 'exit')
  t.teardown(async () => {
    running.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  while (!(await isListening(port))) {
    if (running.exitCode !== null) throw new Error(`PgBouncer ended with ${running.exitCode}`)
    await pause(10)
  }
  const url = new URL(serverUrl)
  url.port = String(port)
  return url.href
}

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
