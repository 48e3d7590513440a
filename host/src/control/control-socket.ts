import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { StorageBusyError } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import { pidFile } from './host-process.ts'
import { sendProgress } from './send-progress.ts'

/** Longer paths cannot be bound (sun_path is 108 bytes on Linux, 104 on macOS). */
const MAX_PATH_BYTES = 100

/**
 * The control socket of the host of the application in `directory`. Each machine has its own, since
 * several may share the folder. An application in a deep folder has it in a user folder below the
 * system's temporary folder.
 */
export function controlSocket(directory: string): string {
  const near = join(directory, '.app', `control-${shortHash(hostname(), 8)}.sock`)
  if (Buffer.byteLength(near) <= MAX_PATH_BYTES) return near
  return join(tmpdir(), `mortise-${process.getuid?.() ?? 'user'}`, `${shortHash(directory, 16)}.sock`)
}

/** Likeliest first: a machine's name changes, and an older host named the socket differently. */
export async function controlSockets(directory: string): Promise<string[]> {
  const own = controlSocket(directory)
  const names = await readdir(join(directory, '.app')).catch(() => [])
  const others = names.filter((name) => /^control.*\.sock$/.test(name))
  return [...new Set([own, ...others.map((name) => join(directory, '.app', name))])]
}

/** @throws {StorageBusyError} if a host serves this folder on this machine */
export async function assertNoHost(directory: string): Promise<void> {
  const socket = connect(controlSocket(directory))
  try {
    await once(socket, 'connect')
  } catch (error) {
    // EAGAIN: the queue of connections is full, so the host exists and hangs.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
  } finally {
    socket.destroy()
  }
  throw new StorageBusyError(`another host runs the application in ${directory}`)
}

/**
 * Makes `control` listen on the socket, for this user alone, and replaces the socket of a dead
 * host.
 * @throws {StorageBusyError} if another host listens
 */
export async function openControlSocket(control: FastifyInstance, directory: string): Promise<void> {
  const socket = controlSocket(directory)
  const folder = dirname(socket)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Fails, as it should, for a folder of another user.
  await chmod(folder, 0o700)
  await assertNoHost(directory)
  await rm(socket, { force: true })
  await writeFile(pidFile(socket), `${process.pid}`, { mode: 0o600 })
  control.server.once('close', () => rmSync(pidFile(socket), { force: true }))
  sendProgress(control)
  await control.listen({ path: socket })
  await chmod(socket, 0o600)
}

const shortHash = (text: string, length: number) =>
  createHash('sha256').update(text).digest('hex').slice(0, length)
