import { readLockFile } from '@mortise/host'
import { externalChanges, inForce, isExternalChange } from '../changes/current-generation.ts'
import type { FixableFinding } from './finding.ts'

/** Whether modules.lock.json differs from the generation in force. */
export async function checkLockFile(directory: string): Promise<FixableFinding[]> {
  const [lock, present] = [await readLockFile(directory), await inForce(directory)]
  if (present === undefined || !isExternalChange(lock, present)) return []
  return [
    {
      id: 'lock-changed',
      severity: 'warning',
      message: `modules.lock.json is not what generation ${present.generation} has, which is in force here. Somebody changed it without a command, by git pull for example: ${externalChanges(lock, present)}.`,
      hint: 'Run "app module-install": it prints the plan, takes a snapshot and puts it in force. Or restore the former file (git checkout), or run "app module-rollback".',
    },
  ]
}
