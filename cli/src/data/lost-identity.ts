import { type IdentityError, readIdentity, secretFile } from '@mortise/host'
import { readSnapshots } from '../application/snapshots.ts'
import { Failure } from '../terminal/failure.ts'

/** Why a command refuses a database or a secret that is not the application's own, and the way back. */
export async function lostIdentity({ code, directory, message }: IdentityError): Promise<Failure> {
  const fail = (hint: string) => new Failure('usage', code, `${message}. Nothing was changed.`, hint)
  switch (code) {
    case 'database-lost':
      return fail(await waysBack(directory))
    case 'other-database':
      return fail(
        'Correct "database" in app.config.json or APP_DATABASE, or mount the right volume. If this is the database from now on: app start --new-database',
      )
    case 'secret-lost':
      return fail(
        `Restore ${secretFile(directory)}, set APP_SECRET, or begin with a new secret, which ends all tokens: app start --new-secret`,
      )
    case 'other-secret':
      return fail(
        'Give the command the secret of the last start: APP_SECRET, or "envFile" in app.config.json. If the secret is to change: app start --new-secret',
      )
  }
}

async function waysBack(directory: string): Promise<string> {
  if (!(await readIdentity(directory))?.database) {
    return 'In a fresh clone, run "app init": it allows a new database. Otherwise mount the volume, or correct "database" in app.config.json or APP_DATABASE.'
  }
  const snapshot = (await readSnapshots(directory)).at(-1)
  return [
    'Mount its volume, or correct "database" in app.config.json or APP_DATABASE. If the data are lost: "app restore <file>" restores a backup',
    ...(snapshot ? [`"app doctor --fix" restores the snapshot of ${snapshot.at}`] : []),
    '"app start --new-database" begins with an empty one.',
  ].join(', ')
}
