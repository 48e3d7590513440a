import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Longer paths cannot be bound (sun_path is 108 bytes on Linux, 104 on macOS); a worker's is longer. */
const MAX_PATH_BYTES = 96

/**
 * Who listens on a socket: the one host of the folder, or with `app start --workers` the supervisor,
 * and each worker by its number.
 */
export type Place = 'host' | 'supervisor' | number

/**
 * The control socket of a process that serves the application in `directory`. Each machine has its
 * own, since several may share the folder. An application in a deep folder has it in a user folder
 * below the system's temporary folder.
 */
export function controlSocket(directory: string, place: Place = 'host'): string {
  const socket = hostSocket(directory)
  if (place === 'host') return socket
  if (place === 'supervisor')
    return join(dirname(socket), basename(socket).replace(/^(control-)?/, 'supervisor-'))
  return socket.replace(/\.sock$/, `-${place}.sock`)
}

function hostSocket(directory: string): string {
  const near = join(directory, '.app', `control-${shortHash(hostname(), 8)}.sock`)
  if (Buffer.byteLength(near) <= MAX_PATH_BYTES) return near
  return join(tmpdir(), `mortise-${process.getuid?.() ?? 'user'}`, `${shortHash(directory, 16)}.sock`)
}

/**
 * The sockets of hosts, whether or not a process listens. Likeliest first: a machine's name changes.
 */
export async function controlSockets(directory: string): Promise<string[]> {
  const own = controlSocket(directory)
  const stem = basename(own, '.sock')
  const near = await socketsIn(join(directory, '.app'), 'control')
  const far = await socketsIn(dirname(own), stem)
  return [...new Set([own, ...far, ...near])]
}

async function socketsIn(folder: string, stem: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => name.startsWith(stem) && name.endsWith('.sock'))
    .sort()
    .map((name) => join(folder, name))
}

/** Whether it is a worker's: its supervisor replaces a worker that does not respond. */
export const isOfWorker = (socket: string): boolean => /-\d{1,3}\.sock$/.test(socket)

/** The lock of a process that has a socket. A host and a supervisor of one folder exclude each other. */
export const hostLockFile = (directory: string, place: Place): string =>
  controlSocket(directory, place === 'supervisor' ? 'host' : place).replace(/\.sock$/, '.lock')

const shortHash = (text: string, length: number) =>
  createHash('sha256').update(text).digest('hex').slice(0, length)
