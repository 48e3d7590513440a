import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire, isBuiltin, registerHooks } from 'node:module'
import { join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Packages that the host provides to every module, so that the process has one copy of each. The
// SDK and fastify always come from the host; of the others a module may bring its own version as a
// dependency.

const alwaysProvided = ['@mortise/module-sdk', 'fastify']
export const providedPackages = [
  ...alwaysProvided,
  'fastify-plugin',
  '@sinclair/typebox',
  '@fastify/type-provider-typebox',
]

/** A folder with the code of a module. */
interface Root {
  readonly path: string
  /** It may import only its own files and provided packages. */
  readonly confined: boolean
  /** The peer dependencies of its package.json, which are provided even if copies lie beside it. */
  readonly peers: readonly string[]
  /** The URLs of its loaded files. */
  readonly loaded: Set<string>
}

const hostRequire = createRequire(import.meta.url)
const entryScheme = 'mortise-entry:'
/** Real paths without links, as in module URLs. */
const roots = new Map<string, Root>()

/**
 * Provides the peers to all code in `directory`, a package's folder. An installed module is
 * confined to its folder. A module in development may find its dependencies further up, as in a
 * workspace.
 */
export function providePeers(directory: string, { confined }: { readonly confined: boolean }): void {
  if (roots.size === 0) registerHooks({ resolve, load })
  const path = realpathSync(directory)
  const { peerDependencies } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const loaded = roots.get(path)?.loaded ?? new Set()
  roots.set(path, { path, confined, peers: Object.keys(peerDependencies ?? {}), loaded })
}

/** The URLs of the files loaded from `directory`, in load order. */
export function loadedFrom(directory: string): string[] {
  return [...(roots.get(realpathSync(directory))?.loaded ?? [])]
}

const load: NonNullable<Parameters<typeof registerHooks>[0]['load']> = (url, context, nextLoad) => {
  rootOf(url)?.loaded.add(url)
  return nextLoad(url, context)
}

const resolve: NonNullable<Parameters<typeof registerHooks>[0]['resolve']> = (
  specifier,
  context,
  nextResolve,
) => {
  if (specifier.startsWith(entryScheme)) {
    const [directory, name] = JSON.parse(decodeURIComponent(specifier.slice(entryScheme.length)))
    const parentURL = pathToFileURL(join(directory, 'package.json')).href
    return nextResolve(name, { ...context, parentURL })
  }
  const root = rootOf(context.parentURL)
  if (root === undefined || isBuiltin(specifier) || /^(\.|\/|#|[a-z]+:)/i.test(specifier)) {
    return nextResolve(specifier, context)
  }
  const name = packageOf(specifier)
  if (providedPackages.includes(name) && !bringsItsOwn(root, name)) {
    if (context.conditions.includes('import')) {
      return nextResolve(specifier, { ...context, parentURL: import.meta.url })
    }
    return { url: pathToFileURL(hostRequire.resolve(specifier)).href, shortCircuit: true }
  }
  const resolved = nextResolve(specifier, context)
  if (!root.confined || rootOf(resolved.url) === root) return resolved
  throw new Error(`imports "${name}", which its package.json does not name: add it to "dependencies"`)
}

/** The entry point of the package in `directory`: its main file, or its `exports`. */
export function entryOf(directory: string): string {
  const { name, main, exports } = createRequire(join(directory, 'package.json'))('./package.json')
  if (exports === undefined) return pathToFileURL(join(directory, main ?? 'index.js')).href
  return entryScheme + encodeURIComponent(JSON.stringify([directory, name]))
}

/** The innermost root that contains `url`, if any. */
function rootOf(url: string | undefined): Root | undefined {
  if (!url?.startsWith('file:')) return undefined
  const path = fileURLToPath(url)
  for (let end = path.lastIndexOf(sep); end > 0; end = path.lastIndexOf(sep, end - 1)) {
    const root = roots.get(path.slice(0, end))
    if (root) return root
  }
  return undefined
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const bringsItsOwn = ({ path, peers }: Root, name: string) =>
  !alwaysProvided.includes(name) && !peers.includes(name) && existsSync(join(path, 'node_modules', name))
