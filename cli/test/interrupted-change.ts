import { changeRecord } from '../src/audit/change-record.ts'
import type { Lock } from '../src/host.ts'
import type { Journal } from '../src/install/journal.ts'

/** The journal of a command that was killed. */
export const interruptedChange = (command: string, former: Lock, next: Lock): Journal => ({
  command,
  record: changeRecord(command, former, next),
  former,
  next,
  undo: [],
})
