import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Program, parse } from 'acorn'

export interface Source {
  /** Relative to the folder of the module. */
  readonly file: string
  readonly program: Program
}

/** Larger ones are bundles, in which no place means anything. */
const LARGEST = 300_000
const NOT_SERVED = /^(node_modules|tests?|coverage|\..*)$|\.(test|spec|config)\.[cm]?js$/

/** The JavaScript of the module itself, without its tests. */
export function sourcesOf(directory: string, folder = directory): Source[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): Source[] => {
    const path = join(folder, entry.name)
    if (NOT_SERVED.test(entry.name)) return []
    if (entry.isDirectory()) return sourcesOf(directory, path)
    if (!/\.[cm]?js$/.test(entry.name) || statSync(path).size > LARGEST) return []
    try {
      const options = { ecmaVersion: 'latest', sourceType: 'module', locations: true } as const
      return [{ file: relative(directory, path), program: parse(readFileSync(path, 'utf8'), options) }]
    } catch {
      return [] // CommonJS, or something that Node reads and this parser does not
    }
  })
}
