import { readLockFile } from '@mortise/host'
import { currentGeneration, externalChanges, isExternalChange } from '../changes/current-generation.ts'
import type { AsyncFindings } from './finding.ts'

/** Whether modules.lock.json differs from the generation in force. */
export async function* checkLockFile(directory: string): AsyncFindings {
  const [lock, present] = [await readLockFile(directory), await currentGeneration(directory)]
  if (present === undefined || !isExternalChange(lock, present)) return
  yield {
    id: 'lock-changed',
    severity: 'warning',
    message: `modules.lock.json differs from generation ${present.generation}, the current one. It was changed without a command, for example by git pull: ${externalChanges(lock, present)}.`,
    hint: 'Run "app module-install": it prints the plan, takes a snapshot and applies the file. Or restore the previous file (git checkout), or run "app module-rollback".',
  }
}
