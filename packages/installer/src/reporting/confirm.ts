import { noReply, notConfirmed } from '../failures/index.ts'
import type { Reporter } from './reporter.ts'

/** The description of `--yes`. */
export const YES =
  'do not ask before data are removed or replaced; the question appears on a terminal only, and a copy is kept'

/**
 * Asks on a terminal. Without a terminal it does not ask: the plan has been printed, and before data
 * are dropped the command keeps an archive or the previous database. (`--restore-snapshot` concerns
 * acknowledged writes, so it requires `--yes` without a terminal.)
 * @throws {Failure} if the reply is not yes, or does not come in time
 */
export async function confirm(terminal: Reporter, yes: boolean, question: string): Promise<void> {
  if (yes || !terminal.interactive) return
  const reply = await terminal.confirm(question)
  if (reply === undefined) throw noReply()
  if (reply) return
  throw notConfirmed({ hint: 'question', what: 'it' })
}
