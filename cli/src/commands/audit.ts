import { readPendingRecords } from '@mortise/application'
import type { AuditRecord } from '@mortise/host'
import { callUnlocked } from '@mortise/installer/changes'
import { asFailure } from '@mortise/installer/explaining'
import type { Command } from '../terminal/command.ts'
import { detailsText } from '../terminal/details-text.ts'
import { numberOption } from '../terminal/number-option.ts'
import { table } from '../terminal/table.ts'

export const command: Command = {
  options: [
    ['--limit <number>', 'the maximum number of records (default: 20)'],
    ['--before <seq>', 'only records older than this one'],
    ['--object <name>', 'only records of this object: a purchase, a module, the subject of a token'],
  ],
  examples: [
    'app audit',
    'app audit --limit 100 --before 4711',
    'app audit --object purchase_01k8w2d3e4f5g6h7j8k9m0n1p2',
    'app audit --json',
  ],

  async run({ options, terminal, application }) {
    const directory = await application()
    const limit = numberOption('--limit', options.limit)
    const before = numberOption('--before', options.before)
    const object = options.object as string | undefined
    const query = {
      limit: limit ?? 20,
      ...(before !== undefined && { before }),
      ...(object !== undefined && { object }),
    }
    const { records } = await callUnlocked(directory, 'audit', query)
    await readPendingRecords(directory, (error) =>
      terminal.note(`Skipped a record: ${asFailure(error).message}`),
    )
    const none = object === undefined ? 'The audit trail is empty.' : `There are no records of ${object}.`
    terminal.result({ records }, records.length > 0 ? table(records.map(cellsOf)) : none)
  },
}

function cellsOf({ seq, at, actor, action, object, outcome, requestId, details }: AuditRecord): string[] {
  const more = [requestId, details && detailsText(details)].filter((part) => part !== null)
  return [seq === null ? 'waits' : String(seq), at, actor, action, object, outcome, more.join('  ')]
}
