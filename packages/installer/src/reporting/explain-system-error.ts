import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  databaseNotOpened,
  diskFailed,
  diskFull,
  type Failure,
  fileInTheWay,
  folderInTheWay,
  missingFile,
  noDatabaseFile,
  notEmpty,
  permissionDenied,
  quotaUsedUp,
  readOnly,
  tooManyFiles,
} from '../failures/index.ts'

type Explanation = (values: { readonly path: string; readonly cause: Error }) => Failure

const explanations: Readonly<Record<string, Explanation>> = {
  ENOSPC: diskFull,
  SQLITE_FULL: diskFull,
  EDQUOT: quotaUsedUp,
  EROFS: readOnly,
  SQLITE_READONLY: readOnly,
  EACCES: permissionDenied,
  EPERM: permissionDenied,
  EISDIR: folderInTheWay,
  SQLITE_CANTOPEN: databaseNotOpened,
  SQLITE_NOTADB: noDatabaseFile,
  SQLITE_CORRUPT: noDatabaseFile,
  ENOTDIR: fileInTheWay,
  EEXIST: fileInTheWay,
  ENOTEMPTY: notEmpty,
  EIO: diskFailed,
  SQLITE_IOERR: diskFailed,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENOENT: missingFile,
}

/** Explains a file error of the operating system; undefined for other errors. */
export function explainSystemError(error: Error): Failure | undefined {
  const chain = [...causesOf(error)]
  const code = chain.map(knownCode).find((one) => one !== undefined)
  const path = chain.map(({ path, dest }) => dest ?? path).find((name) => typeof name === 'string')
  if (code === undefined || path === undefined) return undefined
  const reason = code === 'SQLITE_CANTOPEN' ? whyNotOpened(path) : isFull(code, path) ? 'ENOSPC' : code
  const explained = explanations[reason] as Explanation
  return explained({ path: explained === fileInTheWay ? blocking(path) : path, cause: error })
}

type SystemError = NodeJS.ErrnoException & { readonly dest?: string }

/** SQLite gives no reason. It opens the file and creates others beside it. */
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

/**
 * If SQLite cannot create the files beside the database, it reports only a disk failure. The folder
 * of a temporary file is gone by now.
 */
function isFull(code: string, file: string): boolean {
  try {
    let folder = dirname(file)
    while (!existsSync(folder)) folder = dirname(folder)
    return code === 'SQLITE_IOERR' && statfsSync(folder).bavail === 0
  } catch {
    return false
  }
}

/** SQLite's codes have suffixes: `SQLITE_IOERR_WRITE`. */
const knownCode = ({ code = '' }: SystemError): string | undefined =>
  [code, /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? ''].find((name) => Object.hasOwn(explanations, name))

function* causesOf(error: unknown): Generator<SystemError> {
  for (let at = error; at instanceof Error; at = at.cause) yield at
}

/** The first part of `path` that is a file instead of a folder. */
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
