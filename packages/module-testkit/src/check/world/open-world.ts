import {
  type ActiveModule,
  EventLog,
  foreignTable,
  type Inspect,
  inContractOrder,
  migrateHost,
  moduleMigrations,
  type Storage,
  tableOwners,
  tokenIssuers,
} from '@mortise/host'
import { createHost, createLogger, createTokenVerifier } from '@mortise/host/serving'
import { declarationOf } from '@mortise/module-sdk/host'
import { stepsOfRequest } from '../watch/seen.ts'
import { watchStorage } from '../watch/watch-storage.ts'
import { type WatchedModule, watchModule } from './watch-module.ts'
import { World } from './world.ts'

interface LogLine {
  readonly msg?: string
  readonly err?: { readonly stack?: string }
  /** The id and type of an event whose handler failed. */
  readonly event?: string
  readonly type?: string
}

/** Serves the modules, and watches the one with this `id`. */
export async function openWorld(
  { config, modules, begin }: Pick<Parameters<Inspect>[0], 'config' | 'modules' | 'begin'>,
  id: string,
  storage: Storage,
): Promise<World> {
  const errors: string[] = []
  const failedEvents: World['failedEvents'] = []
  await migrateHost(storage)
  await storage.migrate(moduleMigrations(modules))
  let module: WatchedModule | undefined
  let doing = 'its registration'
  const strangers = tableOwners(strangersOf(modules, id))
  const watched = modules.map((one): ActiveModule => {
    if (one.id !== id) return one
    const watching = watchModule(one, (text) => {
      // Steps that the host offers: audit records and work.
      if (/^insert into mortise_(audit|job)\b/i.test(text)) return
      const foreign = foreignTable(text, id, strangers)
      if (foreign) module?.foreignTables.set(doing.replace('answering ', ''), foreign.table)
    })
    module = watching.watched
    return watching.module
  })
  const observed = watchStorage(storage, stepsOfRequest)
  const logger = createLogger({ ...config.log, level: 'warn' }, { write: (line) => hear(line) })
  function hear(line: string) {
    const { msg, err, event, type = '' } = JSON.parse(line) as LogLine
    if (msg === 'a request failed') errors.push(err?.stack ?? '')
    else if (event !== undefined && err?.stack) failedEvents.push({ type, stack: err.stack })
  }
  const app = await createHost({
    ...{ config, logger, storage: observed, events: new EventLog(storage, logger) },
    tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
    modules: inContractOrder(watched),
  })
  await app.react?.()
  const say = (next: string) => {
    doing = next
    begin(id, next)
  }
  const emitters = modules.map(({ id, plugin }) => ({ id, events: declarationOf(plugin)?.events ?? {} }))
  const own = { module: module as WatchedModule, storage, app, emitters }
  return new World({ ...own, config, errors, failedEvents, say })
}

/** The modules whose contracts the module does not use: it may not name their tables. */
function strangersOf(modules: readonly ActiveModule[], id: string): ActiveModule[] {
  const { requires = {}, optional = {} } = modules.find((one) => one.id === id)?.manifest ?? {}
  const used = Object.keys({ ...requires, ...optional })
  return modules.filter(({ manifest }) => !used.some((contract) => contract in (manifest.provides ?? {})))
}
