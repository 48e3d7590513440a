import type { LockFile } from '@mortise/host'
import { changeRecord } from '../src/changes/audit-record.ts'
import type { Journal } from '../src/changes/journal.ts'

/** The journal of a command that was killed. */
export const interruptedChange = (command: string, previous: LockFile, next: LockFile): Journal => ({
  command,
  record: changeRecord(command, previous, next),
  previous,
  next,
  undo: [],
})
