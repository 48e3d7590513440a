import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownFolder } from '../application/command-folder.ts'

// The index of bare names that ships with the command. The tarballs of its packages travel with the
// command, in `modules/`, each with the SHA-512 that it must have. In a checkout of the repository
// that contains the command, a package of the index is the workspace folder of that name instead.

const packages: Readonly<Record<string, string>> = {
  'api-cart': '@mortise/api-cart',
  'api-purchase': '@mortise/api-purchase',
  'api-product': '@mortise/api-product',
  'api-event': '@mortise/api-event',
  'api-mcp': '@mortise/api-mcp',
  'web-console': '@mortise/web-console',
}

export const indexedNames: readonly string[] = Object.keys(packages)

/** The npm package of `name`, a bare name or a package name of the index. */
export function indexedPackage(name: string): string | undefined {
  if (Object.hasOwn(packages, name)) return packages[name]
  return Object.values(packages).includes(name) ? name : undefined
}

/** A tarball that travels with the command. */
export interface ShippedPackage {
  readonly version: string
  /** Its SHA-512 (SRI). */
  readonly integrity: string
  readonly file: string
}

/** Undefined if the command has no tarball of the package, as in a checkout. */
export function shippedPackage(
  packageName: string,
  folder = join(ownFolder(), 'modules'),
): ShippedPackage | undefined {
  const index = join(folder, 'index.json')
  const shipped = existsSync(index) ? (readJson(index) as Record<string, ShippedPackage>) : {}
  const found = Object.hasOwn(shipped, packageName) ? shipped[packageName] : undefined
  return found && { ...found, file: join(folder, found.file) }
}

/** The workspace folder of a package, if the command runs from a checkout that has it. */
export function workspaceFolder(packageName: string, checkout = ownCheckout()): string | undefined {
  return workspacesOf(checkout).find(
    (folder) => (readJson(join(folder, 'package.json')) as { name?: string }).name === packageName,
  )
}

/** The folder above the command, if it lists the command as a workspace. */
function ownCheckout(): string | undefined {
  const above = dirname(ownFolder())
  return workspacesOf(above).includes(ownFolder()) ? above : undefined
}

function workspacesOf(checkout: string | undefined): string[] {
  const file = checkout && join(checkout, 'package.json')
  if (!file || !existsSync(file)) return []
  const { workspaces } = readJson(file) as { workspaces?: unknown }
  return Array.isArray(workspaces) ? workspaces.map((workspace) => join(checkout, workspace)) : []
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
