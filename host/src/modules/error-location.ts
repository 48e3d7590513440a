import { realpathSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A line that ends in a place: a frame of a stack, or the head of a syntax error's report. */
const place = /((?:file:\/\/|[A-Za-z]:\\|\/).*?):(\d+)(?::\d+)?\)?$/gm

/** Where in the package in `directory` a stack comes by first: `index.js:3`; undefined where it does not. */
export function locationOf(stack: string | undefined, directory: string): string | undefined {
  const root = `${realpathSync(directory)}${sep}`
  for (const [, where = '', line] of stack?.matchAll(place) ?? []) {
    const path = where.startsWith('file:') ? fileURLToPath(where) : where
    if (path.startsWith(root)) return `${relative(root, path)}:${line}`
  }
  return undefined
}

/** What an error says, and where in the package in `directory` it comes from: `no luck (index.js:3)`. */
export function withPlace(error: unknown, directory: string): string {
  if (!(error instanceof Error)) return String(error)
  const where = locationOf(error.stack, directory)
  return where === undefined ? error.message : `${error.message} (${where})`
}
