import { defineFailure } from './define-failure.ts'

export const commandLockUnusable = defineFailure(
  'usage',
  'file-unreadable',
  '{file} should be an empty file.',
  'You can delete it without loss: rm -r {file}. Then run the command again.',
)

export const diskFull = defineFailure(
  'unexpected',
  'disk-full',
  'The disk is full: cannot write {path}.',
  'Free disk space (df -h {path}), then run the command again.',
)

export const quotaUsedUp = defineFailure(
  'unexpected',
  'disk-full',
  "This user's disk quota is used up: cannot write {path}.",
  'Free disk space (df -h {path}), then run the command again.',
)

export const noRoom = defineFailure(
  'unexpected',
  'disk-full',
  '{problem}',
  'Nothing was changed. Free disk space (df -h), then run the command again.',
)

export const readOnly = defineFailure(
  'unexpected',
  'read-only',
  'The file system is read-only: cannot write {path}.',
  'Mount it writable (findmnt -T {path}), then run the command again.',
)

export const permissionDenied = defineFailure(
  'unexpected',
  'permission-denied',
  'This user may not read or write {path}.',
  'Run "app" as the owner of the application. If root wrote files there: chown -R <that user> <the application folder>',
)

export const databaseNotOpened = defineFailure(
  'unexpected',
  'permission-denied',
  'SQLite cannot open {path} and the log next to it.',
  'SQLite writes to that folder: check its owner (ls -l), and whether the file system is writable (findmnt -T {path}).',
)

export const diskFailed = defineFailure(
  'unexpected',
  'disk-failed',
  'The disk failed to read or write {path}.',
  'Check the disk and the system log (dmesg), then run "app doctor".',
)

export const tooManyFiles = defineFailure(
  'unexpected',
  'too-many-files',
  'Too many files are open: cannot open {path}.',
  'Raise the limit (ulimit -n), or end the program that has them open, then run the command again.',
)

export const missingFile = defineFailure(
  'notFound',
  'missing',
  '{path} is missing.',
  'Run "app doctor": it shows what else is missing and how to restore it.',
)

export const fileInTheWay = defineFailure(
  'usage',
  'not-a-folder',
  'There is a file where a folder is needed: {path}.',
  'Move the file away, then run the command again. "app doctor" then shows what is missing.',
)

export const noPlaceForApplication = defineFailure(
  'usage',
  'not-a-folder',
  'There is a file where a folder is needed: {path}.',
  'Move it away, or create the application outside {parent}.',
)

export const folderInTheWay = defineFailure(
  'usage',
  'not-a-file',
  'There is a folder where a file is needed: {path}.',
  'Move the folder away, and restore the file from version control or a backup. "app doctor" shows what is missing.',
)

export const notEmpty = defineFailure(
  'usage',
  'in-the-way',
  '{path} is not empty.',
  'Move its content away, then run the command again.',
)

export const fileUnreadable = defineFailure(
  'usage',
  'file-unreadable',
  '{problem}',
  'Restore the file from a backup of the folder. "app doctor" explains the file; "app doctor --fix" moves it aside if the application does not need it.',
)

export const noDatabaseFile = defineFailure(
  'usage',
  'file-unreadable',
  '{path} is damaged or not an SQLite file.',
  'Run "app doctor": it shows what is damaged and how to restore it.',
)

export const fileExists = defineFailure(
  'refused',
  'file-exists',
  '{file} already exists. The command does not overwrite it.',
  'Name another file, or move this one away.',
)

export const noFolder = defineFailure(
  'notFound',
  'no-folder',
  'Cannot write {file}: there is no folder {folder}.',
  'Create the folder first, or name another file.',
)
