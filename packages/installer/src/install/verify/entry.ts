import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { noEntry } from '../../failures/index.ts'
import type { PackageJson } from '../../store/package-json.ts'
import type { Source } from '../resolve/source.ts'

/** What is known of a package before its code runs. */
interface WithEntry {
  readonly package: { readonly manifest: { readonly id: string }; readonly directory: string }
  readonly json: PackageJson
  readonly source: Pick<Source, 'isOwn' | 'target'>
}

/** The probe finds what package.json cannot show. */
export function checkEntry({ package: { manifest, directory }, json, source }: WithEntry): void {
  const entry = entryOf(json)
  if (entry === undefined || existsSync(join(directory, entry.file))) return
  const { key, file } = entry
  const why =
    key === undefined
      ? 'it has no index.js, and its package.json neither "exports" nor "main"'
      : `its "${key}" in package.json names ${file}, which is not in the package`
  const isBuilt = () => existsSync(join(source.target, file))
  const hint = !source.isOwn ? 'others' : isBuilt() ? 'notPacked' : 'notBuilt'
  throw noEntry({ id: manifest.id, reason: why, hint })
}

/** The file that Node's `import` of a package resolves to; undefined if it is no plain file. */
export function entryOf(json: {
  exports?: unknown
  main?: string
}): { key: 'exports' | 'main' | undefined; file: string } | undefined {
  const { exports, main } = json
  if (exports === undefined || exports === null) {
    return main === undefined ? { key: undefined, file: 'index.js' } : { key: 'main', file: main }
  }
  const file = targetOf(isMap(exports) && '.' in exports ? exports['.'] : exports)
  return file === undefined ? undefined : { key: 'exports', file }
}

const conditions = new Set(['node', 'import', 'module-sync', 'node-addons', 'default'])

function targetOf(target: unknown): string | undefined {
  if (typeof target === 'string') return target.startsWith('./') ? target : undefined
  if (Array.isArray(target)) return target.map(targetOf).find((file) => file !== undefined)
  if (!isMap(target)) return undefined
  return Object.keys(target)
    .filter((condition) => conditions.has(condition))
    .map((condition) => targetOf(target[condition]))
    .find((file) => file !== undefined)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
