import { type ExecFileException, execFile } from 'node:child_process'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import type { TablePart } from '../migrations/table-parts.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'

export interface Column {
  readonly name: string
  /** As in the migration: `TEXT`. */
  readonly type: string
  /** An insert must name it. */
  readonly required: boolean
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
}

/** What the child process responds with. */
export interface Described {
  readonly tables: readonly Table[]
  readonly parts: readonly TablePart[]
}
export type TablesResult = Partial<Described> | { readonly reason: string }

/** Time limit for all migrations of a set on an empty database, in milliseconds. */
export const DESCRIBE_TIMEOUT = 10_000

/**
 * The tables that the migrations of a set create on an empty database in memory. A child process
 * runs them, since only its end can stop an endless statement.
 * @throws {MigrationError} if one is unreadable, is refused, fails, or does not end
 */
export const describeTables = (set: MigrationSet, timeout = DESCRIBE_TIMEOUT) =>
  describe('tables', set, timeout)

/** The same, in all their parts. */
export const describeParts = (set: MigrationSet) => describe('parts', set, DESCRIBE_TIMEOUT)

async function describe<Kind extends keyof Described>(
  kind: Kind,
  set: MigrationSet,
  timeout: number,
): Promise<Described[Kind]> {
  const child = join(import.meta.dirname, `describe-tables-child${extname(import.meta.filename)}`)
  let output: string
  try {
    const options = { timeout, killSignal: 'SIGKILL', env: {}, maxBuffer: 16 * 1024 * 1024 } as const
    const call = [child, JSON.stringify(set), String(process.pid), kind]
    output = (await promisify(execFile)(process.execPath, call, options)).stdout
  } catch (error) {
    const { killed, stderr = '' } = error as ExecFileException
    const reason = killed ? `did not end within ${timeout / 1000} s` : `could not be run: ${stderr.trim()}`
    throw new MigrationError(`the migrations of ${set.module}, in ${set.directory}, ${reason}`, {
      cause: error,
    })
  }
  const result = JSON.parse(output) as TablesResult
  if ('reason' in result) throw new MigrationError(result.reason)
  return result[kind] as Described[Kind]
}
