import { Failure } from '../../terminal/failure.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import type { Plan } from '../plan/module-plan.ts'

/**
 * Refuses what breaks callers or other modules.
 * @throws {Failure} `breaking`
 */
export function refuseBreaking(plans: readonly Plan[]): void {
  const names = namesOfBreaking(plans)
  if (names === '') return
  throw new Failure(
    'refused',
    'breaking',
    `${names} is refused, since it breaks what is listed above, and --fail-on-breaking was given.`,
    'Nothing was changed. Adapt the callers and modules that rely on it, then install it without --fail-on-breaking.',
  )
}

/**
 * On a terminal, asks before what others may rely on goes. Piped, nobody is there to ask: the range of versions
 * was agreed to, and the changes have been said.
 * @throws {Failure} where the answer is not yes
 */
export async function askAboutBreaking(
  plans: readonly Plan[],
  terminal: Terminal,
  yes: boolean,
): Promise<void> {
  const names = namesOfBreaking(plans)
  if (names === '') return
  if (yes || !terminal.interactive)
    return terminal.note(`Goes on although ${names} breaks what is listed above.`)
  if (await terminal.confirm(`${names} breaks what is listed above. Install all the same?`)) return
  throw new Failure(
    'refused',
    'declined',
    'Nothing was installed: it was not confirmed.',
    'Answer y, or add --yes.',
  )
}

const namesOfBreaking = (plans: readonly Plan[]) =>
  plans
    .filter((plan) => plan.breaking.length > 0)
    .map(({ id, version }) => `${id} ${version}`)
    .join(' and ')
