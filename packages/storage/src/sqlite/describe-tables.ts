import { type ExecFileException, execFile } from 'node:child_process'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
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

/** The response of the child process. */
export type TablesResult = { readonly tables: readonly Table[] } | { readonly reason: string }

/** Time limit for all migrations of a set on an empty database, in milliseconds. */
export const DESCRIBE_TIMEOUT = 10_000

/**
 * The tables that the migrations of a set create on an empty database in memory. A child process
 * runs them, since only its end can stop an endless statement.
 * @throws {MigrationError} if one is unreadable, is refused, fails, or does not end
 */
export async function describeTables(
  set: MigrationSet,
  timeout = DESCRIBE_TIMEOUT,
): Promise<readonly Table[]> {
  const child = join(import.meta.dirname, `describe-tables-child${extname(import.meta.filename)}`)
  let output: string
  try {
    const options = { timeout, killSignal: 'SIGKILL', env: {}, maxBuffer: 16 * 1024 * 1024 } as const
    const call = [child, JSON.stringify(set), String(process.pid)]
    output = (await promisify(execFile)(process.execPath, call, options)).stdout
  } catch (error) {
    const { killed, stderr = '' } = error as ExecFileException
    const reason = killed ? `did not end within ${timeout / 1000} s` : `could not be run: ${stderr.trim()}`
    throw new MigrationError(`the migrations of ${set.module}, in ${set.directory}, ${reason}`, {
      cause: error,
    })
  }
  const result = JSON.parse(output) as TablesResult
  if ('tables' in result) return result.tables
  throw new MigrationError(result.reason)
}
