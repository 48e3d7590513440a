import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Confinement } from '../../harness/confined-app.ts'

/**
 * Runs a program in its own mount namespace, where everything except one folder is read-only. The
 * system's temporary folders are read-only too, and root is confined as well.
 */
const SCRIPT = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
for at in / /tmp /var/tmp /usr/tmp /dev/shm /run; do
  if mountpoint -q "$at"; then mount -o remount,bind,ro "$at"; fi
done
for at in /tmp /var/tmp; do
  if touch "$at/mortise-$$" 2>/dev/null; then rm "$at/mortise-$$"; echo "$at is writable" >&2; exit 1; fi
done
cd "$2"
shift 2
exec "$@"`

/** @returns undefined if this machine cannot do that */
export async function readOnlyBut(folder: string, cwd: string): Promise<Confinement | undefined> {
  const isRoot = process.getuid?.() === 0
  const unshare = ['unshare', ...(isRoot ? ['-m'] : ['-rm'])]
  const confinement = [...unshare, 'sh', '-c', SCRIPT, 'sh', folder, cwd]
  const [program, ...words] = confinement as [string, ...string[]]
  return await promisify(execFile)(program, [...words, 'true']).then(
    () => confinement,
    () => undefined,
  )
}
