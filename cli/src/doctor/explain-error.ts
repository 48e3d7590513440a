import { IdentityError, LockFileError } from '@mortise/host'
import { lostLockFile } from '../changes/lost-lock-file.ts'
import { lostIdentity } from '../data/lost-identity.ts'
import type { Failure } from '../failures/index.ts'
import { asFailure } from '../terminal/explain.ts'

/** Turns any error into a Failure. For a lost file it names the newest record. */
export async function explain(error: unknown): Promise<Failure> {
  if (error instanceof LockFileError) return lostLockFile(error)
  if (error instanceof IdentityError) return lostIdentity(error)
  return asFailure(error)
}
