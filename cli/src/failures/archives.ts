import { defineFailure } from './define-failure.ts'

export const archiveFailed = defineFailure(
  'refused',
  'archive-failed',
  'Data would be dropped, and the archive that goes before cannot be written to {folder}: {reason}',
  'Nothing was changed. Make room, or let this user write there, then try again.',
)

export const noArchive = defineFailure(
  'notFound',
  'no-archive',
  '{file} cannot be read: {reason}.',
  'Nothing was changed. Name a file that "app backup", "app module-rollback" or "app module-remove --purge" has written.',
)

export const badArchive = defineFailure(
  'refused',
  'bad-archive',
  '{file} cannot be restored: {reason}.',
  'Nothing was changed. Take another archive.',
)

export const archiveIsBundle = defineFailure(
  'refused',
  'bad-archive',
  '{file} cannot be restored: it is a bundle, which has modules and no data.',
  'Nothing was changed. Install it: app module-install {file}',
)

export const noSecretInArchive = defineFailure(
  'refused',
  'bad-archive',
  '{file} holds no secret: it was made without --with-secret.',
  'Nothing was changed. Leave --with-secret out: .app/secret stays as it is.',
)

export const noSnapshot = defineFailure(
  'refused',
  'no-snapshot',
  'The application cannot go back to generation {generation}: no snapshot is left of a database that fits it.',
  'Nothing was changed. Snapshots are kept for the last five generations. Restore a backup that was made before: app restore',
)

export const noRoomForSnapshot = defineFailure(
  'refused',
  'snapshot-unusable',
  'The snapshot {file} cannot be put back: {reason}.',
  'Nothing was changed. Make room for it, then try again.',
)

export const snapshotUnusable = defineFailure(
  'refused',
  'snapshot-unusable',
  'The snapshot {file} cannot be put back: {reason}.',
  'Nothing was changed. Check the disk, or restore a backup: app restore',
)

export const databaseServed = defineFailure(
  'refused',
  'host-running',
  'A host serves from the database, and data are restored only into one that is stopped: {reason}.',
  'Nothing was changed. Stop it, then run the command again.',
)

export const hostRunning = defineFailure(
  'refused',
  'host-running',
  'A host runs this application, and data are restored only into one that is stopped.',
  'Nothing was changed. Stop it, then run the command again.',
)
