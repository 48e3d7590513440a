import type { Config } from '@mortise/application'
import { readLockFile } from '@mortise/application'
import type { Storage } from '@mortise/storage'
import { importPendingRecords } from '../events/import-records.ts'
import { assertUnusedByHosts, servingHosts } from '../generations/host-heartbeats.ts'
import type { InstalledModules } from '../generations/installed-modules.ts'
import type { Measured } from '../generations/measure-modules.ts'
import type { ServingHost } from '../generations/serving-host.ts'
import type { Verdict } from '../generations/settling.ts'
import type { MetricFamily } from '../telemetry/prometheus-format.ts'
import type { ApplicationState } from './application-state.ts'
import { openApplicationStorage } from './open-application-storage.ts'
import type { WritePause } from './write-pause.ts'

/** An application with an open database: in its running host, or in a command without a host. */
export interface OpenApplication {
  readonly config: Config
  readonly storage: Storage
  /** Absent without a host. */
  readonly installed?: InstalledModules
  readonly hosts: {
    /** Absent without a host. */
    readonly self?: ServingHost
    /** The other hosts that serve from the same database. SQLite has none. */
    others(): Promise<readonly ServingHost[]>
  }
}

/** The options of `app start` that override settings. */
export interface StartOptions {
  /** Overrides the configured port; 0 means any free one. */
  readonly port?: number | undefined
  readonly host?: string | undefined
}

/** An application served by a host. */
export interface RunningApplication extends OpenApplication {
  readonly installed: InstalledModules
  readonly hold: WritePause
  /** With the port that 0 has become. */
  options(): StartOptions
  state(): ApplicationState
  metrics(): Promise<readonly MetricFamily[]>
  /** What takes the main thread, from now on for two seconds; undefined with a debugger attached. */
  measure(): Promise<Measured | undefined>
  /** Watches the change of a generation for at least this many milliseconds, and waits as long. */
  settle(generation: number, milliseconds: number): Promise<Verdict | 'watched'>
  /** Reads `.app/secret` again. @throws {ConfigError} if it is broken; the secret stays then */
  renewSecrets(): Promise<boolean>
  /** Notifies the other hosts of the database what this one serves. */
  notifyHosts(): Promise<void>
}

/**
 * Opens the database of an application without a running host, for the duration of `work`.
 * @param options.takesRecords first imports the pending audit records
 * @throws {IdentityError} if it is missing or another one
 * @throws {StorageBusyError} if a host has started meanwhile, or another command has the SQLite
 * file open
 */
export async function whileOpen<Result>(
  config: Config,
  work: (application: OpenApplication) => Promise<Result>,
  { takesRecords = true } = {},
): Promise<Result> {
  const storage = await openApplicationStorage(config)
  try {
    // If that fails, they wait for the next command.
    if (takesRecords) await importPendingRecords(config.directory, storage).catch(() => {})
    return await work({ config, storage, hosts: { others: () => servingHosts(storage) } })
  } finally {
    await storage.close()
  }
}

/** @throws {StillNeededError} if another host serves these modules in another form */
export async function assertMigrationsUnused(
  { config, hosts }: OpenApplication,
  modules: readonly string[],
): Promise<void> {
  const here = hosts.self?.modules ?? (await readLockFile(config.directory)).modules
  await assertUnusedByHosts(modules, here, () => hosts.others())
}
