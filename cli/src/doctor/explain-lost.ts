import { IdentityError, LockError } from '@mortise/host'
import { lostLock } from '../changes/lost-lock.ts'
import { lostIdentity } from '../data/lost-identity.ts'
import type { Failure } from '../failures/index.ts'
import { asFailure } from '../terminal/explain.ts'

/** Any error as what the command returns; of what is lost, with the newest record of it. */
export async function explain(error: unknown): Promise<Failure> {
  if (error instanceof LockError) return lostLock(error)
  if (error instanceof IdentityError) return lostIdentity(error)
  return asFailure(error)
}
