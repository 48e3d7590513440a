import { readLockFile } from '@mortise/application'
import { installedId } from '@mortise/installer/store'
import { wrongReplayCall } from '../failures/usage.ts'
import type { Call, Command } from '../terminal/command.ts'
import { numberOption } from '../terminal/number-option.ts'

/** Selects what has failed: all, one, or that of one module. */
interface Chosen {
  readonly id?: string
  readonly module?: string
}

/** What a command that lists, replays and discards what has failed is asked to do. */
type ReplayCall =
  | { readonly action: 'show'; readonly limit: number }
  | ({ readonly action: 'replay' } & Chosen)
  | ({ readonly action: 'discard'; readonly id: string } & Chosen)

/** @param what what has failed, in the plural */
export const replayOptions = (what: string): NonNullable<Command['options']> => [
  ['--all', `replay: all failed ${what}`],
  ['--module <name>', 'replay, discard: only for this module'],
  ['--limit <number>', `the maximum number of failed ${what} to show (default: 20)`],
]

/** @throws {Failure} for arguments that do not belong together */
export async function replayCall(
  command: string,
  directory: string,
  { arguments: [action, id], options }: Pick<Call, 'arguments' | 'options'>,
): Promise<ReplayCall> {
  const wrong = (problem: string) => wrongReplayCall({ command, problem })
  const limit = numberOption('--limit', options.limit)
  const all = options.all === true
  if (action === undefined) {
    if (all || options.module !== undefined) throw wrong('--all and --module need replay or discard.')
    return { action: 'show', limit: limit ?? 20 }
  }
  if (limit !== undefined) throw wrong('--limit works without replay or discard only.')
  const { module: name } = options
  const module =
    typeof name === 'string' ? (installedId(await readLockFile(directory), name) ?? name) : undefined
  const chosen = { ...(id !== undefined && { id }), ...(module !== undefined && { module }) }
  if (action === 'replay') {
    if ((id === undefined) !== all) throw wrong('"replay" takes either an id or --all.')
    return { action, ...chosen }
  }
  if (action !== 'discard') throw wrong(`Unknown action "${action}".`)
  if (id === undefined || all) throw wrong('"discard" takes one id, and no --all.')
  return { action, ...chosen, id }
}
