import { beginRecord } from '../audit/begin-record.ts'
import type { Command } from '../command.ts'
import { askDatabase } from '../data/ask-database.ts'
import { withUser } from '../database-in-use.ts'
import { Failure } from '../failure.ts'
import {
  type ChosenReaction,
  discardReactions,
  type FailedChoice,
  type FailedReaction,
  type ReactionsState,
  reactionsState,
  readLock,
  replayReactions,
} from '../host.ts'
import { installedId } from '../install/source.ts'
import { numberOption } from '../number-option.ts'
import { table } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export const events: Command = {
  name: 'events',
  summary:
    'how far modules have got with events, and those on which they have failed: try them again, or give them up',
  arguments: '[replay|discard] [event]',
  options: [
    ['--all', 'replay: every event on which a module has failed'],
    ['--module <name>', 'replay, discard: only for this module'],
    ['--limit <number>', 'show so many failed ones at most (default: 20)'],
  ],
  examples: [
    'app events                            # oldest first',
    'app events replay event_01k8w2d3e4f5g6h7j8k9m0n1p2',
    'app events replay --all --module note # once the module is mended',
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
    if (action === undefined && !all) return await show(directory, limit ?? 20, terminal)
    if (action === 'replay' && (event === undefined) === all) {
      return await replay(directory, await choice(), terminal)
    }
    if (action === 'discard' && event !== undefined && !all) {
      return await discard(directory, { ...(await choice()), event }, terminal)
    }
    throw new Failure(
      'usage',
      'usage',
      'This is not how "app events" is called.',
      'Write app events, app events replay <event>, app events replay --all or app events discard <event>.',
    )
  },
}

async function show(directory: string, limit: number, terminal: Terminal): Promise<void> {
  const state = await readReactions(directory, limit)
  const { subscriptions, failed } = state
  if (subscriptions.length === 0) return terminal.result(state, 'No module reacts to events.')
  const modules = subscriptions.map(({ module, behind, waiting, dead }) => [
    module,
    `${behind} behind`,
    `${waiting} waiting`,
    `${dead} dead`,
  ])
  const next = 'Next: app events replay <event>, or app events discard <event>'
  const parts = [table(modules), ...(failed.length > 0 ? [table(failed.map(cellsOf)), next] : [])]
  terminal.result(state, parts.join('\n\n'))
}

function cellsOf(reaction: FailedReaction): string[] {
  const { event, type, subject, module, state, attempts, nextAttemptAt, error } = reaction
  const next = state === 'dead' ? 'dead' : nextAttemptAt === null ? 'queued' : `again ${nextAttemptAt}`
  return [event, type, subject, module, `${attempts} failed`, next, error]
}

function readReactions(directory: string, limit: number): Promise<ReactionsState> {
  return asked(directory, () =>
    askDatabase({ directory, path: '/reactions', body: { limit } }, () => reactionsState(directory, limit)),
  )
}

async function replay(directory: string, choice: FailedChoice, terminal: Terminal): Promise<void> {
  const { reactions } = await asked(directory, () =>
    askDatabase({ directory, path: '/replay', body: choice }, async () => ({
      reactions: await replayReactions(directory, choice),
    })),
  )
  if (choice.event !== undefined) assertSome(reactions, choice.event)
  terminal.result(
    { replayed: reactions },
    reactions.length === 0
      ? 'Nothing has failed.'
      : `Due now; a host that serves tries within seconds:\n${listed(reactions)}`,
  )
}

async function discard(
  directory: string,
  choice: FailedChoice & { readonly event: string },
  terminal: Terminal,
): Promise<void> {
  const record = { ...beginRecord('discard', choice.event, {}), outcome: 'done' } as const
  const { reactions } = await asked(directory, () =>
    askDatabase({ directory, path: '/discard', body: { ...choice, record } }, async () => ({
      reactions: await discardReactions(directory, choice, record),
    })),
  )
  assertSome(reactions, choice.event)
  terminal.result({ discarded: reactions }, `Given up:\n${listed(reactions)}`)
}

const listed = (reactions: readonly ChosenReaction[]) =>
  table(reactions.map(({ event, type, subject, module }) => [event, type, subject, module]))

function assertSome(reactions: readonly ChosenReaction[], event: string): void {
  if (reactions.length > 0) return
  throw new Failure(
    'notFound',
    'no-failed-reaction',
    `No module that was asked for has failed on an event ${event}.`,
    'See those on which one has: app events',
  )
}

async function moduleOf(directory: string, name: string): Promise<string> {
  return installedId(await readLock(directory), name) ?? name
}

async function asked<Answer>(directory: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    throw await withUser(directory, error)
  }
}
