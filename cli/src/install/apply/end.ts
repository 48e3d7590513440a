import { leaveRecord, type Outcome } from '@mortise/host'
import { type Journal, removeJournal } from '../../changes/journal.ts'

/** Puts a change on record, and forgets it. Killed in between, the same record is left again. */
export async function end(directory: string, { record }: Journal, outcome: Outcome): Promise<void> {
  await leaveRecord(directory, { ...record, outcome })
  await removeJournal(directory)
}
