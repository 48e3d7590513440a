import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure, type FailureKind } from './failure.ts'

interface Explanation {
  readonly kind: FailureKind
  readonly code: string
  readonly message: (path: string) => string
  readonly hint: (path: string) => string
}

const full = (what: string): Explanation => ({
  kind: 'unexpected',
  code: 'disk-full',
  message: (path) => `${what}: ${path} cannot be written.`,
  hint: (path) => `Make room there (df -h ${path}), then run the command again.`,
})

const denied: Explanation = {
  kind: 'unexpected',
  code: 'permission-denied',
  message: (path) => `This user may not read or write ${path}.`,
  hint: () =>
    'Run "app" as the user that the application belongs to. Where root has left files in it: chown -R <that user> <the application folder>',
}

const fileInTheWay: Explanation = {
  kind: 'usage',
  code: 'not-a-folder',
  message: (path) => `There is a file where a folder is needed: ${blocking(path)}.`,
  hint: () => 'Move the file away, then run the command again. "app doctor" says what is missing after that.',
}

const tooManyFiles: Explanation = {
  kind: 'unexpected',
  code: 'too-many-files',
  message: (path) => `Too many files are open: ${path} cannot be opened.`,
  hint: () => 'Raise the limit (ulimit -n), or end what has them open, then run the command again.',
}

const readOnly: Explanation = {
  kind: 'unexpected',
  code: 'read-only',
  message: (path) => `The file system is read-only: ${path} cannot be written.`,
  hint: (path) => `Mount it writable (findmnt -T ${path}), then run the command again.`,
}

const noDatabase: Explanation = {
  kind: 'usage',
  code: 'file-unreadable',
  message: (path) => `${path} is no SQLite file, or it is damaged.`,
  hint: () => 'Run "app doctor": it says what is damaged, and how to get it back.',
}

const diskFailed: Explanation = {
  kind: 'unexpected',
  code: 'disk-failed',
  message: (path) => `The disk failed to read or write ${path}.`,
  hint: () => 'Check the disk and the log of the system (dmesg), then run "app doctor".',
}

const cannotOpen: Explanation = {
  kind: 'unexpected',
  code: 'permission-denied',
  message: (path) => `SQLite cannot open ${path} and the log beside it.`,
  hint: (path) =>
    `It writes to that folder: see whose it is (ls -l), and whether the file system is writable (findmnt -T ${path}).`,
}

const notAFile: Explanation = {
  kind: 'usage',
  code: 'not-a-file',
  message: (path) => `There is a folder where a file is needed: ${path}.`,
  hint: () =>
    'Move the folder away and put the file back, from version control or a backup. "app doctor" says what is missing.',
}

const explanations: Readonly<Record<string, Explanation>> = {
  ENOSPC: full('The disk is full'),
  SQLITE_FULL: full('The disk is full'),
  EDQUOT: full("This user's disk quota is used up"),
  EROFS: readOnly,
  SQLITE_READONLY: readOnly,
  EACCES: denied,
  EPERM: denied,
  EISDIR: notAFile,
  SQLITE_CANTOPEN: cannotOpen,
  SQLITE_NOTADB: noDatabase,
  SQLITE_CORRUPT: noDatabase,
  ENOTDIR: fileInTheWay,
  EEXIST: fileInTheWay,
  ENOTEMPTY: {
    kind: 'usage',
    code: 'in-the-way',
    message: (path) => `Something is in the way: ${path} is not empty.`,
    hint: () => 'Look at what is in it and move that away, then run the command again.',
  },
  EIO: diskFailed,
  SQLITE_IOERR: diskFailed,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENOENT: {
    kind: 'notFound',
    code: 'missing',
    message: (path) => `${path} is missing.`,
    hint: () => 'Run "app doctor": it says what else is missing, and how to get it back.',
  },
}

/** An error of the operating system that concerns a file, with its path, reason and next step; undefined for others. */
export function explainSystemError(error: Error): Failure | undefined {
  const chain = [...causesOf(error)]
  const code = chain.map(knownCode).find((one) => one !== undefined)
  const path = chain.map(({ path, dest }) => dest ?? path).find((name) => typeof name === 'string')
  if (code === undefined || path === undefined) return undefined
  const reason = code === 'SQLITE_CANTOPEN' ? whyNotOpened(path) : isFull(code, path) ? 'ENOSPC' : code
  const { kind, code: name, message, hint } = explanations[reason] as Explanation
  return new Failure(kind, name, message(path), hint(path), { cause: error })
}

type SystemError = NodeJS.ErrnoException & { readonly dest?: string }

/** SQLite says no more than that it cannot: it opens the file, and makes others beside it. */
function whyNotOpened(file: string): string {
  if (stat(file)?.isDirectory()) return 'EISDIR'
  try {
    accessSync(dirname(file), constants.W_OK)
    accessSync(file, constants.W_OK)
    return 'SQLITE_CANTOPEN'
  } catch (error) {
    return knownCode(error as SystemError) ?? 'SQLITE_CANTOPEN'
  }
}

/** Where SQLite cannot make the files beside the database, it says no more than that the disk failed. */
function isFull(code: string, file: string): boolean {
  try {
    return code === 'SQLITE_IOERR' && statfsSync(dirname(file)).bavail === 0
  } catch {
    return false
  }
}

/** Those of SQLite have refinements: `SQLITE_IOERR_WRITE`. */
const knownCode = ({ code = '' }: SystemError): string | undefined =>
  [code, /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? ''].find((name) => Object.hasOwn(explanations, name))

function* causesOf(error: unknown): Generator<SystemError> {
  for (let at = error; at instanceof Error; at = at.cause) yield at
}

/** The file on the way to `path` that is no folder. */
function blocking(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    const found = stat(at)
    if (found !== undefined) return found.isDirectory() ? path : at
    if (dirname(at) === at) return path
  }
}

function stat(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
