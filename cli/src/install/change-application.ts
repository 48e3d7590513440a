import type { Terminal } from '../terminal.ts'
import { whileLocked } from './command-lock.ts'
import { removeLeftovers } from './staging.ts'

/**
 * Does `work` as the only command that changes the application, after what a killed one may have left is
 * removed.
 * @param command as it was called, for whoever finds the application busy
 */
export async function changeApplication<Result>(
  directory: string,
  command: string,
  terminal: Terminal,
  work: () => Promise<Result>,
): Promise<Result> {
  return await whileLocked(directory, command, async () => {
    const leftovers = await removeLeftovers(directory)
    if (leftovers > 0) {
      terminal.note(`Removed what a command that was interrupted had left in staging (${leftovers}).`)
    }
    try {
      return await work()
    } finally {
      await removeLeftovers(directory)
    }
  })
}
