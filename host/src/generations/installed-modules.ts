import { isDeepStrictEqual } from 'node:util'
import {
  type Config,
  ConfigError,
  foldersToLoad,
  isLoaded,
  isServing,
  type LockedModule,
  type LockFile,
  modulesToLoad,
  newestGeneration,
  readConfig,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/application'
import type { AppliedMigration } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import type { OutsideFailures } from '../modules/guard-process.ts'
import { ModuleError, type RegisteredModule } from '../modules/host-module.ts'
import { migrateHost } from '../modules/migrate-host.ts'
import { migrateStored } from '../modules/migrate-stored.ts'
import { moduleMigrations } from '../modules/migration-sets.ts'
import { type Built, build, inTrouble, type Parts } from './build-generation.ts'
import { Generations } from './generation-switch.ts'
import { isOver, PauseEnd } from './pause-end.ts'
import type { Change } from './revert-change.ts'
import { probe } from './run-probe.ts'
import { selfCheck } from './self-check.ts'
import type { ServingHost } from './serving-host.ts'
import type { LiveChange } from './settling.ts'

/** Serves the modules of modules.lock.json: the current generation and the switch to the next. */
export class InstalledModules extends Generations {
  readonly #parts: Parts
  readonly #troubles: OutsideFailures
  /** Applied since the last switch. */
  readonly #applied: AppliedMigration[] = []
  readonly #pauses: PauseEnd
  #serving: Built
  #switches = 0

  private constructor(parts: Parts, troubles: OutsideFailures, first: Built) {
    super(first.app)
    this.#parts = parts
    this.#troubles = troubles
    this.#serving = first
    this.#pauses = new PauseEnd(parts.logger, () => this.#endPauses())
  }

  /**
   * Starts with the modules of the lock. A module that cannot be activated is failed; the others
   * serve.
   * @param troubles failures of modules outside of requests: these modules are failed
   */
  static async start(parts: Parts, troubles: OutsideFailures = new Map()): Promise<InstalledModules> {
    const own = await migrateHost(parts.storage)
    // In this order, like a command that writes both: the settings are never older than the lock.
    const lock = await readLockFile(parts.config.directory)
    await parts.quarantine?.begin(lock)
    const first = await build(await withPresentSettings(parts), lock, troubles)
    logServing(parts, first, own)
    for (const module of first.modules) {
      if (module.state === 'failed') parts.logger.error(`${module.id} does not serve: ${module.reason}`)
    }
    return new InstalledModules(parts, troubles, first)
  }

  get generation(): number {
    return this.#serving.lock.generation
  }

  get modules(): readonly RegisteredModule[] {
    return this.#serving.modules
  }

  /** What the other hosts of the database see. */
  get served(): ServingHost['modules'] {
    const { lock, modules } = this.#serving
    return Object.fromEntries(
      modules.flatMap(({ id, version, state }) =>
        state === 'disabled' ? [] : [[id, { version, tree: lock.modules[id]?.tree ?? '', state }]],
      ),
    )
  }

  /** Switches since the start. */
  get switches(): number {
    return this.#switches
  }

  /** @throws {MigrationError} */
  async migrate(modules: LockFile['modules']): Promise<AppliedMigration[]> {
    const applied = await migrateStored(this.#parts.config, this.#parts.storage, modules)
    this.#applied.push(...applied)
    return applied
  }

  /**
   * Serves modules.lock.json as it is when its turn comes: builds the next generation beside the
   * current one, checks it and switches. A module whose entry has changed is tried again, whatever it
   * did outside of requests. Returns the generation that serves.
   *
   * @param options.probed a command has already tried the modules in a child process, and migrated
   * @param options.again retries failed modules even if the lock is served already
   * @param options.config the text of app.config.json before and after a change of settings
   * @throws {ModuleError} if a module cannot be activated, unless it had failed before and has not
   * changed; nothing has changed then
   * @throws {ConfigError} if modules.lock.json has changed meanwhile; nothing has changed then
   */
  async activate({
    probed,
    again = false,
    config,
  }: {
    readonly probed: boolean
    readonly again?: boolean | undefined
  } & Pick<Change, 'config'>): Promise<number> {
    await this.replace(async () => {
      const previous = this.#serving
      const lock = await readLockFile(this.#parts.config.directory)
      const hasFailed = previous.modules.some(({ state }) => state === 'failed')
      if (isDeepStrictEqual(lock, previous.lock) && !(again && hasFailed)) return undefined
      const parts = await withPresentSettings(this.#parts)
      if (!probed) {
        await this.#assertMigrated(lock)
        await probe(parts.config, foldersToLoad(parts.config.directory, lock))
      }
      const isSame = (id: string) => isDeepStrictEqual(lock.modules[id], previous.lock.modules[id])
      for (const [id, locked] of Object.entries(lock.modules)) {
        if (again || !isSame(id)) this.#troubles.delete(storedModule(parts.config.directory, locked))
      }
      const next = await build(parts, lock, this.#troubles)
      try {
        for (const module of next.modules) {
          if (module.state === 'failed' && !hadFailed(module.id, previous, lock)) {
            throw new ModuleError(module.id, module.reason)
          }
          if (isServing(module) && !isSame(module.id)) {
            await selfCheck(next.app, parts.config.basePath, module)
          }
        }
        // A command that found this process silent has reverted its change.
        if (!isDeepStrictEqual(await readLockFile(parts.config.directory), lock))
          throw new ConfigError('modules.lock.json has changed meanwhile')
        // The self-check may have caused it.
        const failed = inTrouble(parts.config, lock, next.modules, this.#troubles)
        const brought = failed.find(({ module }) => !isSame(module))
        if (brought !== undefined) throw brought
      } catch (error) {
        await next.app.close()
        throw error
      }
      const external = again || !probed
      const change = { ...changeTo(parts.config.directory, next, previous, config), config, external }
      const isWatched = Object.keys(change.fresh).length > 0 && !(await takesBack(parts.config, lock))
      const app = this.#serve(next)
      parts.onSwitch?.(isWatched ? change : undefined)
      return app
    })
    return this.generation
  }

  /**
   * Serves what was installed before a change, whatever its state. The failures of the change are
   * forgotten.
   */
  async servePrevious(lock: LockFile, { fresh }: Change): Promise<void> {
    await this.replace(async () => {
      for (const folder of Object.values(fresh)) this.#troubles.delete(folder)
      return this.#serve(await build(await withPresentSettings(this.#parts), lock, this.#troubles))
    })
  }

  /** @throws {ModuleError} if `lock` brings migrations, or packages that the store does not have */
  async #assertMigrated(lock: LockFile): Promise<void> {
    const { config, storage } = this.#parts
    for (const [id, locked] of modulesToLoad(lock)) {
      const found = await readPackage(storedModule(config.directory, locked)).catch((error: Error) => {
        throw new ModuleError(
          id,
          `${id} ${locked.version} is missing in the store: run "app module-install" (${error.message})`,
          { cause: error },
        )
      })
      const [first] = await storage.pending(moduleMigrations([found]))
      if (first === undefined) continue
      throw new ModuleError(
        id,
        `it brings the migration ${first.name} of ${id}: run "app module-install", which takes a snapshot first`,
      )
    }
  }

  /** Takes failing modules out of service; the others continue. */
  async removeFailing(): Promise<void> {
    await this.replace(async () => {
      const { lock, modules } = this.#serving
      const named = inTrouble(this.#parts.config, lock, modules, this.#troubles)
      if (named.length === 0) return undefined
      return this.#serve(await build(await withPresentSettings(this.#parts), lock, this.#troubles))
    })
  }

  /** Serves without the modules in quarantine, and again those that are released. */
  async followQuarantine(): Promise<void> {
    const { quarantine } = this.#parts
    if (quarantine === undefined) return
    await quarantine.read()
    await this.replace(async () => {
      const { lock, modules, responses } = this.#serving
      const hasChanged = modules.some((module) => {
        const { id, state } = module
        const folder = storedModule(this.#parts.config.directory, lock.modules[id] as LockedModule)
        const isInIt = quarantine.find(id, folder) !== undefined
        return isInIt ? isLoaded(module) : state === 'quarantined'
      })
      if (!hasChanged) return undefined
      return this.#serve(await build(await withPresentSettings(this.#parts), lock, this.#troubles, responses))
    })
  }

  /** Serves the modules whose pause is over. If another module fails meanwhile, nothing changes. */
  async #endPauses(): Promise<void> {
    await this.replace(async () => {
      const { lock, modules, responses } = this.#serving
      if (!modules.some(isOver)) return undefined
      const next = await build(await withPresentSettings(this.#parts), lock, this.#troubles, responses)
      const failed = next.modules.find(
        ({ id, state }) =>
          state === 'failed' && modules.some((module) => module.id === id && isLoaded(module)),
      )
      if (failed?.state !== 'failed') return this.#serve(next)
      await next.app.close()
      throw new ModuleError(failed.id, `${failed.id}: ${failed.reason}`)
    })
    await this.#parts.onPauseEnd?.()
  }

  override async react(): Promise<void> {
    this.#pauses.follow(this.modules)
    await super.react()
  }

  override async close(): Promise<void> {
    await Promise.all([this.#pauses.stop(), super.close()])
  }

  #serve(next: Built): FastifyInstance {
    logServing(this.#parts, next, this.#applied.splice(0))
    if (next.lock.generation !== this.generation) this.#switches += 1
    this.#serving = next
    return next.app
  }
}

/** With the present settings of modules, and the host settings from its start. */
async function withPresentSettings(parts: Parts): Promise<Parts> {
  const { config } = parts
  const { modules } = await readConfig(config.directory, config.environment)
  return { ...parts, config: { ...config, modules } }
}

/** The changes of a switch: modules with another lock entry or other settings. */
function changeTo(
  directory: string,
  next: Built,
  previous: Built,
  config: Change['config'],
): Omit<LiveChange, 'config' | 'external'> {
  const before = new Map(previous.modules.map((module) => [module.id, module]))
  const isFresh = (module: RegisteredModule) => {
    if (!isDeepStrictEqual(next.lock.modules[module.id], previous.lock.modules[module.id])) return true
    return config !== undefined && !isDeepStrictEqual(settingsOf(before.get(module.id)), settingsOf(module))
  }
  const fresh = next.modules
    .filter((module) => isServing(module) && isFresh(module))
    .map(({ id }) => [id, storedModule(directory, next.lock.modules[id] as LockedModule)] as const)
  const responses = { previous: previous.responses, next: next.responses }
  return { previous: previous.lock, next: next.lock, fresh: Object.fromEntries(fresh), responses }
}

const settingsOf = (module: RegisteredModule | undefined) =>
  module && isLoaded(module) ? module.settings : undefined

/** Whether a lock results from a revert: its modules have served before. */
async function takesBack({ directory }: Config, lock: LockFile): Promise<boolean> {
  const made = await newestGeneration(directory)
  return made?.takesBack !== undefined && isDeepStrictEqual(made.lock, lock)
}

/**
 * Settings can break a module as well as code, so a module that served before and has not changed
 * is no exception.
 */
function hadFailed(id: string, previous: Built, next: LockFile): boolean {
  const before = previous.modules.find((module) => module.id === id)
  return before?.state === 'failed' && isDeepStrictEqual(next.modules[id], previous.lock.modules[id])
}

/** The only log line of a start or a switch. */
function logServing({ logger }: Parts, { lock, modules, applied }: Built, before: AppliedMigration[]): void {
  const { generation } = lock
  const names = modules.map(
    ({ id, version, state }) => `${id}@${version}${state === 'active' ? '' : ` (${state})`}`,
  )
  const migrations = [...before, ...applied].map(({ module, name }) => `${module}/${name}`)
  logger.info({ generation, modules: names, migrations }, `generation ${generation} serves`)
}
