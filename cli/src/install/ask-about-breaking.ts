import { Failure } from '../failure.ts'
import type { Terminal } from '../terminal.ts'
import type { Plan } from './plan.ts'

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
  const breaking = plans.filter((plan) => plan.breaking.length > 0)
  if (breaking.length === 0) return
  const names = breaking.map(({ id, version }) => `${id} ${version}`).join(' and ')
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
