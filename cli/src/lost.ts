import { lostIdentity } from './data/lost-identity.ts'
import { asFailure } from './explain.ts'
import type { Failure } from './failures/index.ts'
import { IdentityError, LockError } from './host.ts'
import { lostLock } from './install/lost-lock.ts'

/** Any error as what the command returns; of what is lost, with the newest record of it. */
export async function explain(error: unknown): Promise<Failure> {
  if (error instanceof LockError) return lostLock(error)
  if (error instanceof IdentityError) return lostIdentity(error)
  return asFailure(error)
}
