import { readLockFile } from '@mortise/application'
import type { FailedEvent } from '@mortise/host'
import { callUnlocked, doneRecord } from '@mortise/installer/changes'
import { noEventHandler, noFailedEvent } from '@mortise/installer/failures'
import { whyIdle } from '@mortise/installer/store'
import type { Command } from '../terminal/command.ts'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { replayCall, replayOptions } from './replay-call.ts'

export const command: Command = {
  options: replayOptions('events'),
  examples: [
    'app events                            # oldest first',
    'app events replay event_01k8w2d3e4f5g6h7j8k9m0n1p2',
    'app events replay --all --module note # after the module is fixed',
    'app events discard event_01k8w2d3e4f5g6h7j8k9m0n1p2',
  ],

  async run({ terminal, application, ...call }) {
    const directory = await application()
    const asked = await replayCall('events', directory, call)
    if (asked.action === 'show') return await show(directory, asked.limit, terminal)
    const { action, id, ...of } = asked
    if (of.module !== undefined) await assertHandles(directory, of.module)
    const choice = { ...(id !== undefined && { event: id }), ...of }
    const record = doneRecord('discard', id ?? '', {})
    const { failedEvents } =
      action === 'replay'
        ? await callUnlocked(directory, 'replay', choice)
        : await callUnlocked(directory, 'discard', { ...choice, event: asked.id, record })
    if (id !== undefined && failedEvents.length === 0) {
      throw noFailedEvent({ event: id, of: of.module === undefined ? '' : ` of ${of.module}` })
    }
    const listed = table(
      failedEvents.map(({ event, type, subject, module }) => [event, type, subject, module]),
    )
    if (action === 'discard') return terminal.result({ discarded: failedEvents }, `Discarded:\n${listed}`)
    const lock = await readLockFile(directory)
    const idle = [...new Set(failedEvents.map(({ module }) => module))].flatMap((module) => {
      const why = whyIdle(lock, module)
      return why === undefined ? [] : [`\n${module} is ${why}: it retries when it serves again.`]
    })
    const said = `Due now; a running host retries within seconds:\n${listed}${idle.join('')}`
    terminal.result(
      { replayed: failedEvents },
      failedEvents.length === 0 ? 'There are no failed events.' : said,
    )
  },
}

async function show(directory: string, limit: number, terminal: Terminal): Promise<void> {
  const state = await callUnlocked(directory, 'failedEvents', { limit })
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

function cellsOf(failedEvent: FailedEvent): string[] {
  const { event, type, subject, module, state, attempts, nextAttemptAt, error } = failedEvent
  const isDue = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()
  const waiting = nextAttemptAt === null ? 'queued' : isDue ? 'due now' : `again ${nextAttemptAt}`
  const next = state === 'dead' ? 'dead' : waiting
  return [event, type, subject, module, `${attempts} failed`, next, error]
}

/** @throws {Failure} for a module that has no event handlers, and never had any */
async function assertHandles(directory: string, module: string): Promise<void> {
  const { subscriptions } = await callUnlocked(directory, 'failedEvents', { limit: 1 })
  if (!subscriptions.some((subscription) => subscription.module === module)) {
    throw noEventHandler({ name: module })
  }
}
