import { isServing } from '@mortise/application'
import type { ApplicationState } from '../application-state.ts'
import { askHost } from '../ask-host.ts'
import { controlSocket } from '../control-socket.ts'

/** How long a worker may be silent, in milliseconds. */
const TIMEOUT = 5_000

/** Undefined if it does not respond. */
export async function stateOfWorker(
  directory: string,
  number: number,
): Promise<ApplicationState | undefined> {
  const socket = controlSocket(directory, number)
  const response = await askHost(socket, 'state', {}, { firstSign: TIMEOUT }).catch(() => undefined)
  return typeof response === 'object' && 'body' in response ? (response.body as ApplicationState) : undefined
}

/**
 * A module may work in the previous worker but not in the next, with a newer host.
 * @throws {Error} with the reason
 */
export function assertAsGood(
  before: ApplicationState | undefined,
  after: ApplicationState | undefined,
): void {
  // A silent worker reports no modules.
  if (before === undefined) return
  if (after === undefined) throw new Error('it does not respond')
  const works = new Set(before.modules.filter(isServing).map(({ id }) => id))
  for (const { id, state, reason } of after.modules) {
    if (state === 'failed' && works.has(id)) throw new Error(`${id} fails in it: ${reason}`)
  }
}
