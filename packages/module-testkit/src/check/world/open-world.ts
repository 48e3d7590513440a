import { tokenIssuers } from '@mortise/application'
import {
  type ActiveModule,
  EventLog,
  type Inspect,
  inContractOrder,
  migrateHost,
  moduleMigrations,
} from '@mortise/host'
import { createHost, createLogger, createTokenVerifier } from '@mortise/host/serving'
import { declarationOf } from '@mortise/module-sdk/host'
import type { Storage } from '@mortise/storage'
import { stepsOfRequest } from '../watch/seen.ts'
import { watchStorage } from '../watch/watch-storage.ts'
import { CANARY } from './canaries.ts'
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
  const logged: string[] = []
  await migrateHost(storage)
  await storage.migrate(moduleMigrations(modules))
  let module: WatchedModule | undefined
  const watched = modules.map((one): ActiveModule => {
    if (one.id !== id) return one
    const watching = watchModule(one)
    module = watching.watched
    return watching.module
  })
  const observed = watchStorage(storage, stepsOfRequest)
  const logger = createLogger({ ...config.log, level: 'debug' }, { write: (line) => hear(line) })
  function hear(line: string) {
    if (line.includes(CANARY)) logged.push(line)
    if (!line.includes('"err"')) return
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
  const say = (doing: string) => begin(id, doing)
  const emitters = modules.map(({ id, plugin }) => ({ id, events: declarationOf(plugin)?.events ?? {} }))
  const own = { module: module as WatchedModule, storage, app, emitters }
  return new World({ ...own, config, errors, failedEvents, logged, say })
}
