import { existsSync } from 'node:fs'
import { createRequire, isBuiltin, registerHooks } from 'node:module'
import { join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Packages that the host lends to every module, so that there is one copy of each in the process. The SDK
// and fastify are always the host's own; of the others a module may bring its own version as a dependency.

const alwaysLent = ['@mortise/module-sdk', 'fastify']
export const lentPackages = [
  ...alwaysLent,
  'fastify-plugin',
  '@sinclair/typebox',
  '@fastify/type-provider-typebox',
]

const hostRequire = createRequire(import.meta.url)
const entryScheme = 'mortise-entry:'
const storePath = `${sep}.app${sep}store${sep}`
let registered = false

/** Lends the peers to everything below an application's `.app/store/`. Calling it again changes nothing. */
export function lendPeers(): void {
  if (registered) return
  registered = true
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.startsWith(entryScheme)) {
        const [directory, name] = JSON.parse(decodeURIComponent(specifier.slice(entryScheme.length)))
        const parentURL = pathToFileURL(join(directory, 'package.json')).href
        return nextResolve(name, { ...context, parentURL })
      }
      const root = storeRootOf(context.parentURL)
      if (root === undefined || isBuiltin(specifier) || /^(\.|\/|#|[a-z]+:)/i.test(specifier)) {
        return nextResolve(specifier, context)
      }
      const name = packageOf(specifier)
      if (lentPackages.includes(name) && !bringsItsOwn(root, name)) {
        if (context.conditions.includes('import')) {
          return nextResolve(specifier, { ...context, parentURL: import.meta.url })
        }
        return { url: pathToFileURL(hostRequire.resolve(specifier)).href, shortCircuit: true }
      }
      const resolved = nextResolve(specifier, context)
      if (storeRootOf(resolved.url) === root) return resolved
      throw new Error(
        `imports "${name}", which is not among its dependencies: add it to "dependencies" in its package.json`,
      )
    },
  })
}

/** What to import for the default export of the package in `directory`: its main file, or its `exports`. */
export function entryOf(directory: string): string {
  const { name, main, exports } = createRequire(join(directory, 'package.json'))('./package.json')
  if (exports === undefined) return pathToFileURL(join(directory, main ?? 'index.js')).href
  return entryScheme + encodeURIComponent(JSON.stringify([directory, name]))
}

/** The store folder that `url` lies in, if any. */
function storeRootOf(url: string | undefined): string | undefined {
  if (!url?.startsWith('file:')) return undefined
  const path = fileURLToPath(url)
  const start = path.lastIndexOf(storePath)
  if (start < 0) return undefined
  const end = path.indexOf(sep, start + storePath.length)
  return end < 0 ? undefined : path.slice(0, end)
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const bringsItsOwn = (root: string, name: string) =>
  !alwaysLent.includes(name) && existsSync(join(root, 'node_modules', name))
