import { define } from './define-failure.ts'

export const archiveFailed = define.refused(
  'archive-failed',
  'The command would drop data, and it cannot write the archive of them to {folder}: {reason}',
  'Nothing was changed. Free disk space, or let this user write there, then try again.',
)

export const wrongBackupCall = define.usage(
  'wrong-backup-call',
  'It is not clear what to back up, and when.',
  'Write one of: app backup <file>, app backup verify <file>, app backup --every 6h --to <folder> [--keep 28]',
)

export const noArchive = define.notFound(
  'no-archive',
  '{file} cannot be read: {reason}.',
  'Nothing was changed. Name a file from "app backup", "app module-rollback" or "app module-remove --purge".',
)

export const badArchive = define.refused(
  'bad-archive',
  '{file} cannot be restored: {reason}.',
  'Nothing was changed. Use another archive.',
)

export const archiveIsBundle = define.refused(
  'bad-archive',
  '{file} cannot be restored: it is a bundle, which contains modules and no data.',
  'Nothing was changed. Install it: app module-install {file}',
)

export const noSecretInArchive = define.refused(
  'bad-archive',
  '{file} contains no secret: it was made without --with-secret.',
  'Nothing was changed. Leave --with-secret out: .app/secret stays as it is.',
)

export const noSnapshot = define.refused(
  'no-snapshot',
  'The application cannot go back to generation {generation} with a snapshot: {reason}.',
  {
    none: 'Nothing was changed. Go back without --restore-snapshot, or restore an older backup: app restore. Snapshots are kept for the last five generations.',
    purged:
      'Nothing was changed. The purged data are in an archive: go back without --restore-snapshot, then restore them with the host stopped: {ways}',
  },
)

export const snapshotUnusable = define.refused(
  'snapshot-unusable',
  'The snapshot {file} cannot be restored: {reason}.',
  {
    damaged: 'Nothing was changed. Check the disk, or restore a backup: app restore',
    full: 'Nothing was changed. Free disk space for it, then try again.',
  },
)

export const databaseServed = define.refused(
  'host-running',
  'Data can be restored only while the application is stopped, and a host uses its database: {reason}.',
  'Nothing was changed. Stop the host, then run the command again.',
)

export const hostRunning = define.refused(
  'host-running',
  'Data can be restored only while the application is stopped, and it is running.',
  'Nothing was changed. Stop the host, then run the command again.',
)
