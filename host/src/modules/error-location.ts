import { realpathSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A line that ends in a location: a stack frame, or the first line of a syntax error's report. */
const place = /((?:file:\/\/|[A-Za-z]:\\|\/).*?):(\d+)(?::\d+)?\)?$/gm

/**
 * `index.js:3`; undefined without a location inside the package in `directory`. Its dependencies count
 * only if no file of its own is there: an author's folder has the host among them.
 */
export function locationOf(stack: string | undefined, directory: string): string | undefined {
  const root = `${realpathSync(directory)}${sep}`
  let inDependency: string | undefined
  for (const [, where = '', line] of stack?.matchAll(place) ?? []) {
    const path = where.startsWith('file:') ? fileURLToPath(where) : where
    if (!path.startsWith(root)) continue
    const found = `${relative(root, path)}:${line}`
    if (!found.startsWith(`node_modules${sep}`)) return found
    inDependency ??= found
  }
  return inDependency
}

/**
 * The message of an error with its location in the package in `directory`: `no luck (index.js:3)`.
 */
export function withLocation(error: unknown, directory: string): string {
  if (!(error instanceof Error)) return String(error)
  const where = locationOf(error.stack, directory)
  return where === undefined ? error.message : `${error.message} (${where})`
}
