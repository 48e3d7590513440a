import type { Command } from '../command.ts'
import { askDatabase } from '../data/ask-database.ts'
import { withUser } from '../database-in-use.ts'
import { Failure } from '../failure.ts'
import { type AuditQuery, type AuditRecord, auditTrail } from '../host.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'who changed what: installations, status changes, deletions, tokens; newest first',
  options: [
    ['--limit <number>', 'so many records at most (default: 20)'],
    ['--before <seq>', 'only older ones than this record'],
  ],
  examples: ['app audit', 'app audit --limit 100 --before 4711', 'app audit --json'],

  async run({ options, terminal, application }) {
    const directory = await application()
    const limit = numberOf('--limit', options.limit as string | undefined)
    const before = numberOf('--before', options.before as string | undefined)
    const query = { limit: limit ?? 20, ...(before !== undefined && { before }) }
    const records = await read(directory, query)
    terminal.result({ records }, records.length > 0 ? table(records) : 'Nothing is on record.')
  },
}

async function read(directory: string, query: AuditQuery): Promise<readonly AuditRecord[]> {
  try {
    const { records } = await askDatabase({ directory, path: '/audit', body: query }, async () => ({
      records: await auditTrail(directory, query),
    }))
    return records
  } catch (error) {
    throw await withUser(directory, error)
  }
}

/** One line each, in columns. */
function table(records: readonly AuditRecord[]): string {
  const rows = records.map(({ seq, at, actor, action, object, outcome, requestId, details }) => {
    const more = [requestId, details && JSON.stringify(details)].filter((part) => part !== null)
    const cells = [seq === null ? 'waits' : String(seq), at, actor, action, object, outcome, more.join('  ')]
    // Each record has one line, whatever a caller or a module has put into it.
    return cells.map((cell) => cell.replace(/\p{Cc}/gu, '?'))
  })
  const widths = ['', '', '', '', '', ''].map((_, column) =>
    Math.max(...rows.map((row) => (row[column] as string).length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Failure('usage', 'usage', `"${text}" is no number for ${option}.`, 'Give an integer from 1 on.')
}
