import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// The index of bare names that ships with the command. In a checkout of the repository that
// contains the command, a package of the index is the workspace folder of that name.

const packages: Readonly<Record<string, string>> = {
  'api-cart': '@mortise/api-cart',
  'api-purchase': '@mortise/api-purchase',
  'api-event': '@mortise/api-event',
}

export const indexedNames: readonly string[] = Object.keys(packages)

/** The npm package of `name`, a bare name or a package name of the index. */
export function indexedPackage(name: string): string | undefined {
  if (Object.hasOwn(packages, name)) return packages[name]
  return Object.values(packages).includes(name) ? name : undefined
}

/** The workspace folder of a package, if the command runs from a checkout that has it. */
export function workspaceFolder(packageName: string, checkout = ownCheckout()): string | undefined {
  if (checkout === undefined) return undefined
  const { workspaces } = readJson(join(checkout, 'package.json')) as { workspaces: string[] }
  return workspaces
    .map((workspace) => join(checkout, workspace))
    .find((folder) => (readJson(join(folder, 'package.json')) as { name?: string }).name === packageName)
}

/** The folder above this package, if it lists this package as a workspace. */
function ownCheckout(): string | undefined {
  const own = join(import.meta.dirname, '..', '..', '..')
  const above = dirname(own)
  const file = join(above, 'package.json')
  if (!existsSync(file)) return undefined
  const { workspaces } = readJson(file) as { workspaces?: unknown }
  const isOwn = Array.isArray(workspaces) && workspaces.some((workspace) => join(above, workspace) === own)
  return isOwn ? above : undefined
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
