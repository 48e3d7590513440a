import { confirm } from '../../terminal/confirm.ts'
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
    return terminal.note(`Installing ${names} in spite of the breaking changes above.`)
  await confirm(terminal, yes, `${names} has the breaking changes above. Install anyway?`)
}
