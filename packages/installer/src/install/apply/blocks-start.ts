import { readJournal } from '../../changes/journal.ts'
import { isOfHost } from '../../store/applied-migrations.ts'

/** Whether the change that a killed command left keeps the host from starting. */
export async function blocksStart(directory: string): Promise<boolean> {
  return (await readJournal(directory))?.undo.some(isOfHost) === true
}
