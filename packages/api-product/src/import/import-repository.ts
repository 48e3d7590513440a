import { expiryDay, maybeOne, type Row, run, sql } from '@mortise/module-sdk'
import type { Import } from '../schemas.ts'

/** The statements of imports. */

export type ImportRow = Omit<Row<Import>, 'errors' | 'skipInvalid'> & {
  /** JSON. */
  errors: string
  skipInvalid: number
}

const columns = sql`id, format, skip_invalid AS "skipInvalid", stock, separated_by AS separator, status, products,
  done, created, changed, skipped, error_count AS "errorCount", errors, failure, created_at AS "createdAt",
  updated_at AS "updatedAt", expires_at AS "expiresAt"`

export const insertImport = (row: ImportRow, bytes: Uint8Array) =>
  run(sql`
    INSERT INTO product_import (id, format, skip_invalid, stock, bytes, status, products, done, created, changed,
      skipped, error_count, errors, created_at, updated_at, expires_at, expiry_day)
    VALUES (${row.id}, ${row.format}, ${row.skipInvalid}, ${row.stock}, ${bytes}, ${row.status}, ${row.products},
      ${row.done}, ${row.created}, ${row.changed}, ${row.skipped}, ${row.errorCount}, ${row.errors},
      ${row.createdAt}, ${row.updatedAt}, ${row.expiresAt}, ${expiryDay(row.expiresAt)})`)

export const findImport = (id: string, now: number) =>
  maybeOne<ImportRow>(sql`SELECT ${columns} FROM product_import WHERE id = ${id} AND expires_at > ${now}`)

/** Undefined once the import has ended. */
export const findFile = (id: string) =>
  maybeOne<ImportRow & { bytes: Uint8Array }>(
    sql`SELECT ${columns}, bytes FROM product_import WHERE id = ${id} AND bytes IS NOT NULL`,
  )

/** Stores how far an import is, if it is still at `before`. Returns the number of imports. */
export const advance = (row: ImportRow, before: Pick<ImportRow, 'done' | 'status'>, now: number) =>
  run(
    sql`
    UPDATE product_import SET
      separated_by = ${row.separator}, status = ${row.status}, products = ${row.products}, done = ${row.done},
      created = ${row.created}, changed = ${row.changed}, skipped = ${row.skipped},
      error_count = ${row.errorCount}, errors = ${row.errors}, failure = ${row.failure}, updated_at = ${now},
      bytes = CASE WHEN ${row.status} IN ('completed', 'refused') THEN NULL ELSE bytes END
    WHERE id = ${row.id} AND done = ${before.done} AND status = ${before.status}`,
    1,
  )

/** The file stays: the operator may have the job done again. */
export const fail = (id: string, failure: string, now: number) =>
  run(sql`
    UPDATE product_import SET status = 'failed', failure = ${failure}, updated_at = ${now}
    WHERE id = ${id} AND bytes IS NOT NULL`)

/** It does not continue. */
export const stop = (id: string, failure: string, now: number) =>
  run(sql`
    UPDATE product_import SET status = 'failed', failure = ${failure}, updated_at = ${now}, bytes = NULL
    WHERE id = ${id} AND bytes IS NOT NULL`)
