import { type CustomTypesConfig, types } from 'pg'

const { BOOL, BYTEA, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC } = types.builtins

const PARSERS = new Map<number, (text: string) => unknown>([
  [BOOL, (text) => (text === 't' ? 1 : 0)],
  [BYTEA, types.getTypeParser(BYTEA)],
  [INT8, exact],
  [INT2, Number],
  [INT4, Number],
  [FLOAT4, Number],
  [FLOAT8, Number],
  [NUMERIC, exact],
])

/**
 * Values are returned as from SQLite: integers as numbers, booleans as 0 or 1, everything else
 * (JSON, dates) as text. An integer that a number cannot hold exactly fails its statement instead
 * of being rounded.
 */
export const valueTypes: CustomTypesConfig = {
  getTypeParser: (type: number) => PARSERS.get(type) ?? String,
}

/** @throws {RangeError} */
function exact(text: string): number {
  const value = Number(text)
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  throw new RangeError('a column is beyond ±(2^53 - 1) and would be rounded: select CAST(… AS TEXT)')
}
