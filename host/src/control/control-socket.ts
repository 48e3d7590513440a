import { createHash } from 'node:crypto'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Longer paths cannot be bound (sun_path is 108 bytes on Linux, 104 on macOS). */
const MAX_PATH_BYTES = 100

/**
 * Where the host of the application in `directory` listens for the `app` command. An application in a deep
 * folder has it in a folder of the user's own below the system's temporary one.
 */
export function controlSocket(directory: string): string {
  const near = join(directory, '.app', 'control.sock')
  if (Buffer.byteLength(near) <= MAX_PATH_BYTES) return near
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  return join(tmpdir(), `mortise-${process.getuid?.() ?? 'user'}`, `${hash}.sock`)
}

/** Makes the socket's folder, readable by this user alone, and removes what a dead host left there. */
export async function prepareControlSocket(socket: string): Promise<void> {
  const folder = join(socket, '..')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Fails for a folder that belongs to somebody else, as it should.
  await chmod(folder, 0o700)
  await rm(socket, { force: true })
}
