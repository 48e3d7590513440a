import { realpathSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A line that ends in a location: a stack frame, or the first line of a syntax error's report. */
const place = /((?:file:\/\/|[A-Za-z]:\\|\/).*?):(\d+)(?::\d+)?\)?$/gm

/** `index.js:3`; undefined without a location inside the package in `directory`. */
export function locationOf(stack: string | undefined, directory: string): string | undefined {
  const root = `${realpathSync(directory)}${sep}`
  for (const [, where = '', line] of stack?.matchAll(place) ?? []) {
    const path = where.startsWith('file:') ? fileURLToPath(where) : where
    if (path.startsWith(root)) return `${relative(root, path)}:${line}`
  }
  return undefined
}

/**
 * The message of an error with its location in the package in `directory`: `no luck (index.js:3)`.
 */
export function withLocation(error: unknown, directory: string): string {
  if (!(error instanceof Error)) return String(error)
  const where = locationOf(error.stack, directory)
  return where === undefined ? error.message : `${error.message} (${where})`
}
