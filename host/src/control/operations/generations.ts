import { Type } from '@sinclair/typebox'
import { release as releaseModules } from '../../generations/quarantine.ts'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { assertMigrationsUnused } from '../open-application.ts'
import { databaseOperation, hostOperation, RefusedError } from '../operation.ts'

/** Serves the current modules.lock.json. */
export const activate = hostOperation({
  input: Type.Object({
    /** Retries failed modules: the lock file is external, or packages are back in the store. */
    again: Type.Optional(Type.Boolean()),
    /** The text of app.config.json before and after a change of settings. */
    config: Type.Optional(Type.Object({ previous: Type.String(), next: Type.String() })),
  }),
  // Code of a module may block the event loop while it loads.
  holdsLoop: 30_000,
  async run(host, { again, config }) {
    const generation = await host.installed.activate({ probed: true, again, config })
    await host.notifyHosts()
    return { generation }
  },
  merge: (outputs) => ({ generation: Math.min(...outputs.map(({ generation }) => generation)) }),
})

/** At least this many seconds. Returns `watched` if the watch continues. */
export const settle = hostOperation({
  input: Type.Object({ generation: Type.Integer(), seconds: Type.Integer() }),
  // Until `LoopWatchdog` ends the process.
  holdsLoop: 45_000,
  isAwaited: true,
  run: async (host, { generation, seconds }) => ({ verdict: await host.settle(generation, seconds * 1000) }),
  merge: ([first, ...others]) => others.find(({ verdict }) => verdict !== 'settled') ?? first,
})

/** Ends the quarantine of modules, on every host of the database. */
export const release = databaseOperation({
  changesNothing: true,
  input: Type.Object({ modules: Type.Unsafe<readonly string[]>(Type.Array(Type.String())) }),
  holdsLoop: 30_000,
  async run({ config, storage, installed }, { modules }) {
    const released = await releaseModules(config.directory, storage, modules)
    await installed?.followQuarantine()
    return { released }
  },
  withoutDatabase: async () => ({ released: [] as string[] }),
  merge: (outputs) => ({ released: [...new Set(outputs.flatMap(({ released }) => released))] }),
})

/** How long a caller waits for the end of a previous generation, in milliseconds. */
const TIMEOUT = 10_000

/**
 * Waits until no previous generation serves, here or, for these modules, on another host of the
 * database.
 */
export const retired = databaseOperation({
  changesNothing: true,
  input: Type.Object({ modules: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))) }),
  async run(application, { modules = [] }) {
    const retired = application.installed?.retired() ?? Promise.resolve()
    if (!(await settlesWithin(TIMEOUT, retired))) {
      throw new RefusedError(
        `requests from before the change are still in progress after ${TIMEOUT / 1000} s`,
      )
    }
    await assertMigrationsUnused(application, modules)
    return {}
  },
  merge: () => ({}),
})

/** Replaces the hosts of `app start --workers` one by one. */
export const restart = hostOperation({
  bySupervisor: true,
  async run(): Promise<{ readonly workers: number }> {
    throw new RefusedError('it is one process, so a restart would interrupt service')
  },
})
