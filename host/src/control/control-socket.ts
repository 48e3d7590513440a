import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { StorageBusyError } from '@mortise/storage'

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

/** The lock of the host that has the socket. */
export const hostLockFile = (socket: string) => socket.replace(/\.sock$/, '.lock')

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

const shortHash = (text: string, length: number) =>
  createHash('sha256').update(text).digest('hex').slice(0, length)
