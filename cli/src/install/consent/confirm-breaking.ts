import { installNotConfirmed } from '../../failures/index.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { namesOfBreaking } from '../plan/breaking/refuse-breaking.ts'
import type { Plan } from '../plan/module-plan.ts'

/**
 * On a terminal, asks before a breaking change. Without a terminal it does not ask: the operator
 * chose the version range, and the changes have been printed.
 * @throws {Failure} if the answer is not yes
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
