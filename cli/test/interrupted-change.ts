import type { LockFile } from '@mortise/application'
import type { Journal } from '@mortise/installer/changes'
import { changeRecord } from '@mortise/installer/changes'

/** The journal of a command that was killed. */
export const interruptedChange = (command: string, previous: LockFile, next: LockFile): Journal => ({
  command,
  record: changeRecord(command, previous, next),
  previous,
  next,
  undo: [],
})
