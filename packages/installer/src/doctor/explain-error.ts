import { IdentityError, LockFileError, readIdentity, secretFile } from '@mortise/application'
import { readSnapshots } from '@mortise/application/folder'
import { lostLockFile } from '../changes/lost-lock-file.ts'
import {
  databaseLost,
  type Failure,
  lostBeforeFirstStart,
  otherDatabase,
  otherSecret,
  secretLost,
} from '../failures/index.ts'
import { asFailure } from '../reporting/explain.ts'

/** Turns any error into a Failure. For a lost file it names the newest record. */
export async function explain(error: unknown): Promise<Failure> {
  if (error instanceof LockFileError) return lostLockFile(error)
  if (error instanceof IdentityError) return lostIdentity(error)
  return asFailure(error)
}

/** The failure for a database or secret that is not the application's own. */
export async function lostIdentity({ code, directory, message: problem }: IdentityError): Promise<Failure> {
  switch (code) {
    case 'database-lost':
      return await databaseGone(directory, problem)
    case 'other-database':
      return otherDatabase({ problem })
    case 'secret-lost':
      return secretLost({ problem, file: secretFile(directory) })
    case 'other-secret':
      return otherSecret({ problem })
  }
}

async function databaseGone(directory: string, problem: string): Promise<Failure> {
  if (!(await readIdentity(directory))?.database) return lostBeforeFirstStart({ problem })
  const snapshot = (await readSnapshots(directory)).at(-1)
  return snapshot
    ? databaseLost({ hint: 'snapshot', problem, at: snapshot.at })
    : databaseLost({ hint: 'backup', problem })
}
