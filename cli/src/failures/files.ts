import { defineFailure } from './define-failure.ts'

export const diskFull = defineFailure(
  'unexpected',
  'disk-full',
  'The disk is full: {path} cannot be written.',
  'Make room there (df -h {path}), then run the command again.',
)

export const quotaUsedUp = defineFailure(
  'unexpected',
  'disk-full',
  "This user's disk quota is used up: {path} cannot be written.",
  'Make room there (df -h {path}), then run the command again.',
)

export const noRoom = defineFailure(
  'unexpected',
  'disk-full',
  '{problem}',
  'Nothing was changed. Make room on the disk (df -h), then run the command again.',
)

export const readOnly = defineFailure(
  'unexpected',
  'read-only',
  'The file system is read-only: {path} cannot be written.',
  'Mount it writable (findmnt -T {path}), then run the command again.',
)

export const permissionDenied = defineFailure(
  'unexpected',
  'permission-denied',
  'This user may not read or write {path}.',
  'Run "app" as the user that the application belongs to. Where root has left files in it: chown -R <that user> <the application folder>',
)

export const databaseNotOpened = defineFailure(
  'unexpected',
  'permission-denied',
  'SQLite cannot open {path} and the log beside it.',
  'It writes to that folder: see whose it is (ls -l), and whether the file system is writable (findmnt -T {path}).',
)

export const diskFailed = defineFailure(
  'unexpected',
  'disk-failed',
  'The disk failed to read or write {path}.',
  'Check the disk and the log of the system (dmesg), then run "app doctor".',
)

export const tooManyFiles = defineFailure(
  'unexpected',
  'too-many-files',
  'Too many files are open: {path} cannot be opened.',
  'Raise the limit (ulimit -n), or end what has them open, then run the command again.',
)

export const missingFile = defineFailure(
  'notFound',
  'missing',
  '{path} is missing.',
  'Run "app doctor": it says what else is missing, and how to get it back.',
)

export const fileInTheWay = defineFailure(
  'usage',
  'not-a-folder',
  'There is a file where a folder is needed: {path}.',
  'Move the file away, then run the command again. "app doctor" says what is missing after that.',
)

export const noPlaceForApplication = defineFailure(
  'usage',
  'not-a-folder',
  'There is a file where a folder is needed: {path}.',
  'Move it away, or make the application elsewhere than in {parent}.',
)

export const folderInTheWay = defineFailure(
  'usage',
  'not-a-file',
  'There is a folder where a file is needed: {path}.',
  'Move the folder away and put the file back, from version control or a backup. "app doctor" says what is missing.',
)

export const notEmpty = defineFailure(
  'usage',
  'in-the-way',
  'Something is in the way: {path} is not empty.',
  'Look at what is in it and move that away, then run the command again.',
)

export const fileUnreadable = defineFailure(
  'usage',
  'file-unreadable',
  '{problem}',
  'Put the file back from a backup of the folder. "app doctor" says what it is for and what else there is, and "app doctor --fix" sets it aside where the application can do without.',
)

export const noDatabaseFile = defineFailure(
  'usage',
  'file-unreadable',
  '{path} is no SQLite file, or it is damaged.',
  'Run "app doctor": it says what is damaged, and how to get it back.',
)

export const fileExists = defineFailure(
  'refused',
  'file-exists',
  '{file} exists already, and is not overwritten.',
  'Name another file, or move that one away.',
)

export const noFolder = defineFailure(
  'notFound',
  'no-folder',
  '{file} cannot be written: there is no folder {folder}.',
  'Make it first, or name another file.',
)
