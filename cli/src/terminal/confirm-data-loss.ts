import { notConfirmed } from '../failures/index.ts'
import type { Terminal } from './terminal.ts'

/** What `--yes` is for. */
export const YES = 'do not ask before data go; asked on a terminal only, since what was there is kept'

/**
 * On a terminal, asks before data go. Piped, nobody is there to ask, and the archive or the former database that is kept
 * is the way back. (`--restore-snapshot`, which is about acknowledged writes, requires `--yes` when piped.)
 * @throws {Failure} where the answer is not yes
 */
export async function confirmDataLoss(terminal: Terminal, yes: boolean, question: string): Promise<void> {
  if (yes || !terminal.interactive || (await terminal.confirm(question))) return
  throw notConfirmed()
}
