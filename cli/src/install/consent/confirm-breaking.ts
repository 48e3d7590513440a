import { installNotConfirmed } from '../../failures/index.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { namesOfBreaking } from '../plan/breaking/refuse-breaking.ts'
import type { Plan } from '../plan/module-plan.ts'

/**
 * On a terminal, asks before what others may rely on goes. Piped, nobody is there to ask: the range of versions
 * was agreed to, and the changes have been said.
 * @throws {Failure} where the answer is not yes
 */
export async function confirmBreaking(
  plans: readonly Plan[],
  terminal: Terminal,
  yes: boolean,
): Promise<void> {
  const names = namesOfBreaking(plans)
  if (names === '') return
  if (yes || !terminal.interactive)
    return terminal.note(`Goes on although ${names} breaks what is listed above.`)
  if (await terminal.confirm(`${names} breaks what is listed above. Install all the same?`)) return
  throw installNotConfirmed()
}
