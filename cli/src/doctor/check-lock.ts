import { readLock } from '@mortise/host'
import { cameFromOutside, changesFromOutside, inForce } from '../changes/in-force.ts'
import type { Trouble } from './finding.ts'

/** Whether modules.lock.json names something else than a command has put in force here. */
export async function checkLock(directory: string): Promise<Trouble[]> {
  const [lock, present] = [await readLock(directory), await inForce(directory)]
  if (present === undefined || !cameFromOutside(lock, present)) return []
  return [
    {
      id: 'lock-changed',
      severity: 'warning',
      message: `modules.lock.json is not what generation ${present.generation} has, which is in force here. Somebody changed it without a command, by git pull for example: ${changesFromOutside(lock, present)}.`,
      hint: 'Run "app module-install": it prints the plan, takes a snapshot and puts it in force. Or restore the former file (git checkout), or run "app module-rollback".',
    },
  ]
}
