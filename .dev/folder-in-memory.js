import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ENOUGH = 4 * 2 ** 30

/**
 * For the temporary files of a run and tap's fixtures, where a disk in memory is large enough. The caller removes
 * it; what a run that was killed has left is removed here.
 * @param {string} root the checkout
 * @returns {string | undefined}
 */
export function folderInMemory(root) {
  try {
    for (const name of readdirSync(MEMORY)) {
      const [, pid] = /^mortise-test-(\d+)-/.exec(name) ?? []
      if (pid !== undefined && !isRunning(Number(pid)))
        rmSync(join(MEMORY, name), { recursive: true, force: true })
    }
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < ENOUGH) return undefined
    const folder = mkdtempSync(join(MEMORY, `mortise-test-${process.pid}-`))
    // PostgreSQL may run as another user.
    chmodSync(folder, 0o711)
    // A packed host finds its dependencies as if it were below the checkout.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    return folder
  } catch {
    return undefined
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch ({ code }) {
    return code !== 'ESRCH'
  }
}
