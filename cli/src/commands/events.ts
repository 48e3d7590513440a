import {
  type ChosenEvent,
  type FailedChoice,
  type FailedEvent,
  type LockFile,
  readLockFile,
} from '@mortise/host'
import { beginRecord } from '../changes/audit-record.ts'
import { callUnlocked } from '../changes/database-in-use.ts'
import { noEventFailedBy, noEventHandler, noFailedEvent, wrongEventsCall } from '../failures/index.ts'
import { installedId } from '../store/installed-packages.ts'
import type { Command } from '../terminal/command.ts'
import { numberOption } from '../terminal/number-option.ts'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

export const events: Command = {
  options: [
    ['--all', 'replay: all failed events'],
    ['--module <name>', 'replay, discard: only for this module'],
    ['--limit <number>', 'the maximum number of failed events to show (default: 20)'],
  ],
  examples: [
    'app events                            # oldest first',
    'app events replay event_01k8w2d3e4f5g6h7j8k9m0n1p2',
    'app events replay --all --module note # after the module is fixed',
    'app events discard event_01k8w2d3e4f5g6h7j8k9m0n1p2',
  ],

  async run({ arguments: [action, event], options, terminal, application }) {
    const directory = await application()
    const choice = async () => ({
      ...(event !== undefined && { event }),
      ...(typeof options.module === 'string' && { module: await moduleOf(directory, options.module) }),
    })
    const limit = numberOption('--limit', options.limit)
    const all = options.all === true
    if (action === undefined) {
      if (all || options.module !== undefined)
        throw wrongEventsCall({ problem: '--all and --module need replay or discard.' })
      return await show(directory, limit ?? 20, terminal)
    }
    if (limit !== undefined)
      throw wrongEventsCall({ problem: '--limit works without replay or discard only.' })
    if (action === 'replay') {
      if ((event === undefined) !== all)
        throw wrongEventsCall({ problem: '"replay" takes either an event or --all.' })
      return await replay(directory, await choice(), terminal)
    }
    if (action !== 'discard') throw wrongEventsCall({ problem: `Unknown action "${action}".` })
    if (event === undefined || all)
      throw wrongEventsCall({ problem: '"discard" takes one event, and no --all.' })
    return await discard(directory, { ...(await choice()), event }, terminal)
  },
}

async function show(directory: string, limit: number, terminal: Terminal): Promise<void> {
  const state = await callUnlocked(directory, 'reactions', { limit })
  const { subscriptions, failed } = state
  if (subscriptions.length === 0) return terminal.result(state, 'No module handles events.')
  const lock = await readLockFile(directory)
  const modules = subscriptions.map(({ module, behind, waiting, dead }) => [
    module,
    `${behind} behind`,
    `${waiting} waiting`,
    `${dead} dead`,
    whyIdle(lock, module) ?? '',
  ])
  const next = 'Next: app events replay <event>, or app events discard <event>'
  const parts = [table(modules), ...(failed.length > 0 ? [table(failed.map(cellsOf)), next] : [])]
  terminal.result(state, parts.join('\n\n'))
}

/** Undefined if the module is installed and enabled. */
function whyIdle(lock: LockFile, module: string): string | undefined {
  const locked = lock.modules[module]
  if (locked === undefined) return 'not installed'
  return locked.enabled ? undefined : 'disabled'
}

function cellsOf(reaction: FailedEvent): string[] {
  const { event, type, subject, module, state, attempts, nextAttemptAt, error } = reaction
  const isDue = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()
  const waiting = nextAttemptAt === null ? 'queued' : isDue ? 'due now' : `again ${nextAttemptAt}`
  const next = state === 'dead' ? 'dead' : waiting
  return [event, type, subject, module, `${attempts} failed`, next, error]
}

async function replay(directory: string, choice: FailedChoice, terminal: Terminal): Promise<void> {
  const { reactions } = await callUnlocked(directory, 'replay', choice)
  if (choice.event !== undefined) assertSome(reactions, choice.event, choice.module)
  const lock = await readLockFile(directory)
  const idle = [...new Set(reactions.map(({ module }) => module))].flatMap((module) => {
    const why = whyIdle(lock, module)
    return why === undefined ? [] : [`\n${module} is ${why}: it retries when it serves again.`]
  })
  terminal.result(
    { replayed: reactions },
    reactions.length === 0
      ? 'There are no failed events.'
      : `Due now; a running host retries within seconds:\n${listed(reactions)}${idle.join('')}`,
  )
}

async function discard(
  directory: string,
  choice: FailedChoice & { readonly event: string },
  terminal: Terminal,
): Promise<void> {
  const record = { ...beginRecord('discard', choice.event, {}), outcome: 'done' } as const
  const { reactions } = await callUnlocked(directory, 'discard', { ...choice, record })
  assertSome(reactions, choice.event, choice.module)
  terminal.result({ discarded: reactions }, `Discarded:\n${listed(reactions)}`)
}

const listed = (reactions: readonly ChosenEvent[]) =>
  table(reactions.map(({ event, type, subject, module }) => [event, type, subject, module]))

function assertSome(reactions: readonly ChosenEvent[], event: string, module?: string): void {
  if (reactions.length > 0) return
  throw module === undefined ? noFailedEvent({ event }) : noEventFailedBy({ module, event })
}

/** The id of a module that has, or had, event handlers. */
async function moduleOf(directory: string, name: string): Promise<string> {
  const id = installedId(await readLockFile(directory), name) ?? name
  const { subscriptions } = await callUnlocked(directory, 'reactions', { limit: 1 })
  if (subscriptions.some(({ module }) => module === id)) return id
  throw noEventHandler({ name })
}
