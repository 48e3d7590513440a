import { setImmediate } from 'node:timers/promises'
import type { Config } from '@mortise/application'
import { isLoaded, type LockedModule, type LockFile, storedModule } from '@mortise/application'
import type { AppliedMigration } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import type { OutsideFailures } from '../modules/guard-process.ts'
import { ModuleError, type RegisteredModule } from '../modules/host-module.ts'
import { failModule, loadModules } from '../modules/load-modules.ts'
import { migrateStored } from '../modules/migrate-stored.ts'
import { createHost, type HostOptions } from './create-host.ts'
import type { Quarantine } from './quarantine.ts'
import { ResponseCounts } from './response-counts.ts'
import type { LiveChange } from './settling.ts'

export type Parts = Omit<HostOptions, 'modules' | 'counting'> & {
  /** Called before the first request after a switch; undefined if nothing is to be watched. */
  readonly onSwitch?: (change: LiveChange | undefined) => void
  /** Called when a module serves after its pause. */
  readonly onPauseEnd?: () => Promise<void>
  /** The modules that must not be loaded; without it there are none. */
  readonly quarantine?: Quarantine
  /** Called with the module of each failed response. */
  readonly onFailure?: (module: string) => void
}

/** What serves a lock file. */
export interface Built {
  readonly lock: LockFile
  readonly modules: readonly RegisteredModule[]
  readonly app: FastifyInstance
  /** The migrations applied for it. */
  readonly applied: readonly AppliedMigration[]
  readonly responses: ResponseCounts
}

/**
 * Serves all modules of `lock` that can serve; the others are failed.
 * @param responses the counts of another instance to go on with
 */
export async function build(
  given: Parts,
  lock: LockFile,
  troubles: OutsideFailures,
  responses = new ResponseCounts(),
): Promise<Built> {
  const parts = { ...given, counting: { responses, onFailure: given.onFailure ?? (() => {}) } }
  let modules = await loadModules(parts.config, lock, parts.quarantine)
  const applied: AppliedMigration[] = []
  for (const module of modules) {
    if (!isLoaded(module)) continue
    const { id } = module
    try {
      const locked = lock.modules[id] as LockedModule
      applied.push(...(await migrateStored(parts.config, parts.storage, { [id]: locked })))
    } catch (error) {
      modules = failModule(modules, new ModuleError(id, (error as Error).message))
    }
  }
  for (;;) {
    for (const error of inTrouble(parts.config, lock, modules, troubles)) modules = failModule(modules, error)
    const created = await createChecked(parts, modules)
    // An unhandled rejection of a registration is reported within this turn of the event loop.
    await setImmediate()
    if (inTrouble(parts.config, lock, created.modules, troubles).length === 0)
      return { lock, applied, responses, ...created }
    await created.app.close()
    modules = [...created.modules]
  }
}

/** The loaded modules with failures outside of requests. */
export function inTrouble(
  { directory }: Config,
  lock: LockFile,
  modules: readonly RegisteredModule[],
  troubles: OutsideFailures,
): ModuleError[] {
  return modules.flatMap((module) => {
    const { id } = module
    const reason = troubles.get(storedModule(directory, lock.modules[id] as LockedModule))
    return isLoaded(module) && reason !== undefined ? [new ModuleError(id, reason)] : []
  })
}

/**
 * Builds an instance with all modules that can be registered. A module that cannot is failed, and
 * the instance is built again without it, because Fastify keeps what the failed module had
 * registered.
 */
async function createChecked(
  parts: Omit<HostOptions, 'modules'>,
  modules: readonly RegisteredModule[],
): Promise<Pick<Built, 'app' | 'modules'>> {
  try {
    const app = await createHost({ ...parts, modules })
    const { statusCode, body } = await app.inject(`${parts.config.basePath}/health/live`)
    if (statusCode !== 200) throw new Error(`the next generation does not respond: ${statusCode} ${body}`)
    return { app, modules }
  } catch (error) {
    const failure = error instanceof ModuleError ? error : await blame(parts, modules, error as Error)
    return createChecked(parts, failModule(modules, failure))
  }
}

/**
 * Finds the module behind an error that came after all registrations, for example in an onReady
 * hook: the one whose addition to the modules before it causes the error. Rethrows if the host
 * fails by itself.
 */
async function blame(
  parts: Omit<HostOptions, 'modules'>,
  modules: readonly RegisteredModule[],
  error: Error,
): Promise<ModuleError> {
  for (const [index, module] of modules.entries()) {
    if (!isLoaded(module)) continue
    const { id } = module
    try {
      const app = await createHost({ ...parts, modules: modules.slice(0, index + 1) })
      await app.close()
    } catch {
      return new ModuleError(id, `it fails after registration: ${error.message}`, { cause: error })
    }
  }
  throw error
}
