import { realpathSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ModulePlugin } from '@mortise/module-sdk'
import { settlesWithin } from '../telemetry/settles-within.ts'
import { withLocation } from './error-location.ts'
import { ModuleError } from './host-module.ts'
import { adviceOn, locateSyntaxError } from './locate-syntax-error.ts'
import { entryOf, loadedFrom, providePeers } from './provide-peers.ts'

const loadedDirectories = new Set<string>()

/** Packages below `store` that this process has loaded so far; replaced ones stay in memory. */
export const loadedPackages = (store: string): number =>
  [...loadedDirectories].filter((directory) => directory.startsWith(store)).length

/** Time limit for loading a module, and again for registering it, in milliseconds. */
export const LOAD_TIMEOUT = 10_000

/**
 * Imports the package in `directory` with the host's shared packages and returns its default
 * export. The process keeps loaded code forever, so a changed package must lie in another folder,
 * as in the store.
 *
 * @param options.confined see `providePeers`
 * @throws {ModuleError} if it throws, does not finish, or exports no plugin
 */
export async function loadPlugin(
  id: string,
  directory: string,
  { confined = true }: { readonly confined?: boolean } = {},
): Promise<ModulePlugin> {
  providePeers(directory, { confined })
  try {
    const loading = import(entryOf(directory))
    if (!(await settlesWithin(LOAD_TIMEOUT, loading))) {
      const [file] = loadedFrom(directory).slice(-1)
      const where = file === undefined ? '' : ` (${relative(realpathSync(directory), fileURLToPath(file))})`
      throw new ModuleError(id, `its code did not finish loading within ${LOAD_TIMEOUT / 1000} s${where}`)
    }
    const loaded = await loading
    loadedDirectories.add(directory)
    // A CommonJS build of an ES module has its default export one level deeper.
    const plugin = loaded.default?.__esModule ? loaded.default.default : loaded.default
    if (typeof plugin === 'function') return plugin
    throw new ModuleError(id, 'its default export is not a Fastify plugin: use defineModule')
  } catch (error) {
    if (error instanceof ModuleError) throw error
    if (error instanceof SyntaxError) {
      error.stack = (await locateSyntaxError(error.message, loadedFrom(directory))) ?? error.stack ?? ''
      error.message += adviceOn(error.stack)
    }
    throw new ModuleError(id, `loading it failed: ${withLocation(error, directory)}`, { cause: error })
  }
}
