import { byEngine, type Emission, run, sql, type Transaction } from '@mortise/module-sdk'
import type { Outbox } from '../src/port/steps.ts'

/** The table of an outbox, for both engines. */
export const NOTES = `
  CREATE TABLE note (text TEXT NOT NULL, position BIGINT);
`

/** A step that writes a row of `note`, without its position. */
export function* leaveNote(text: string): Transaction<void> {
  yield { event: { subject: text } } as Emission
}

/** An outbox in the table `note`. */
export const notes: Outbox = {
  insertion: ({ event }) => {
    if (event.subject === '') throw new TypeError('a note has a text')
    return sql`INSERT INTO note (text) VALUES (${event.subject})`
  },
  unplaced: sql`SELECT 1 FROM note WHERE position IS NULL LIMIT 1`,
  *place(isShared) {
    const oldest = byEngine({ sqlite: sql`rowid`, postgres: sql`ctid` })
    const placed = yield* run(sql`
      UPDATE note SET position = (SELECT coalesce(max(position), 0) + 1 FROM note)
      WHERE ${oldest} = (SELECT ${oldest} FROM note WHERE position IS NULL ORDER BY ${oldest} LIMIT 1)`)
    if (isShared) yield* run(sql`SELECT pg_notify('note', current_schema())`)
    return placed > 0
  },
  channel: 'note',
}
