import type { Column, Table } from '@mortise/storage'
import type { BreakingChange } from './breaking-change.ts'

/** The change of a module's table; null stands for no table before, or after. */
export interface TableChange {
  readonly table: string
  /** Null if the whole table is added or dropped. */
  readonly column: string | null
  readonly from: string | null
  readonly to: string | null
}

/** The differences between the tables of two versions. */
export function tableChanges(previous: readonly Table[], next: readonly Table[]): TableChange[] {
  return pairs(previous, next).flatMap(({ name, was, is }): TableChange[] => {
    if (!was || !is) {
      return [{ table: name, column: null, from: was ? described(was) : null, to: is ? described(is) : null }]
    }
    return pairs(was.columns, is.columns)
      .map(({ name: column, was, is }) => ({ table: name, column, from: typeOf(was), to: typeOf(is) }))
      .filter(({ from, to }) => from !== to)
  })
}

/**
 * Changes that may break statements of the previous version. The probe does not call its writing
 * routes, so whether it has such statements is unknown.
 */
export function contractions(module: string, changes: readonly TableChange[]): BreakingChange[] {
  return changes.flatMap(({ table, column, from, to }): BreakingChange[] => {
    const name = column === null ? table : `${table}.${column}`
    const message =
      from !== null && to === null
        ? `${name} is dropped: statements of the previous version that use it would fail.`
        : column !== null && to?.endsWith(REQUIRED) && !from?.endsWith(REQUIRED)
          ? `${name} is required now: the previous version could not add a row.`
          : undefined
    return message === undefined ? [] : [{ module, code: 'table-changed', message }]
  })
}

/** For people: `+ note.more TEXT`. */
export function changeText({ table, column, from, to }: TableChange): string {
  const name = column === null ? table : `${table}.${column}`
  if (from === null) return `+ ${name} ${to}`
  return to === null ? `- ${name} ${from}` : `~ ${name} ${from}, then ${to}`
}

/** For people: `(id TEXT, text TEXT)`. */
export const described = ({ columns }: Table) =>
  `(${columns.map(({ name, type }) => `${name} ${type}`.trim()).join(', ')})`

const REQUIRED = 'NOT NULL'

function typeOf(column: Column | undefined): string | null {
  if (column === undefined) return null
  return [column.type, ...(column.required ? [REQUIRED] : [])].join(' ').trim()
}

function pairs<Named extends { readonly name: string }>(previous: readonly Named[], next: readonly Named[]) {
  const names = new Set([...previous, ...next].map(({ name }) => name))
  const find = (all: readonly Named[], wanted: string) => all.find(({ name }) => name === wanted)
  return [...names].map((name) => ({ name, was: find(previous, name), is: find(next, name) }))
}
