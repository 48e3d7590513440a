import { once } from 'node:events'
import { extname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { createTokenVerifier } from '../callers/tokens.ts'
import { moduleSettings, tokenIssuers } from '../config.ts'
import { createHost } from '../create-host.ts'
import { createLogger } from '../logger.ts'
import { openStorage } from '../storage/open-storage.ts'
import { inContractOrder } from './contract-registry.ts'
import { type ActiveModule, ModuleError } from './host-module.ts'
import { loadedFrom } from './lend-peers.ts'
import { loadPlugin } from './load-plugin.ts'
import { hostMigrations, moduleMigrations } from './migration-sets.ts'
import { placeOf } from './place-of.ts'
import type { ProbedModule, ProbeFailure, ProbeMessage, ProbeRequest } from './probe.ts'
import { readPackage } from './read-package.ts'
import { rememberSharedObjects } from './shared-objects.ts'

// The child process of a probe: does what activation would do, in a place where nothing can break.

const watchdog = new Worker(join(import.meta.dirname, `probe-watchdog${extname(import.meta.filename)}`), {
  workerData: { parent: process.ppid, scratch: process.cwd() },
})

// Modules find no process that waits for their messages, as in the host.
const send = process.send?.bind(process)
delete process.send

/** How long the modules are watched once they are registered, in milliseconds. */
const LINGER = 250

/** Which module is to blame for what happens now. */
let inHand = ''
const changeOfShared = rememberSharedObjects()

process.once('message', (request: ProbeRequest) => {
  tryOut(request).then(
    () => tell({ kind: 'done' }),
    (error: Error) => {
      const module = error instanceof ModuleError ? error.module : inHand
      const directory = request.modules.find(({ id }) => id === module)?.directory
      const unparsed = directory === undefined ? undefined : unparsedIn(directory, error)
      tell({ kind: 'failed', module, reason: error.message, stack: stackOf(error), unparsed })
    },
  )
})

async function tryOut({ config, modules, scratch }: ProbeRequest): Promise<void> {
  await once(watchdog, 'online')
  watchdog.unref()
  const storage = await openStorage({
    file: join(scratch, 'probe.db'),
    onFatal: (error) => {
      throw error
    },
  })
  await storage.migrate([hostMigrations])
  const active: ActiveModule[] = []
  for (const module of modules) {
    begin(module.id)
    active.push(await load(module))
    await storage.migrate(moduleMigrations([await readPackage(module.directory)]))
  }
  const app = await createHost({
    config,
    storage,
    logger: createLogger({ ...config.log, level: 'silent' }),
    tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
    modules: inContractOrder(active),
    notReady: () => undefined,
    onRegister: begin,
  })
  // What a module has begun while it loaded may fail a moment later.
  await setTimeout(LINGER)
  refuseChangeOfShared()
  await app.close()
  await storage.close()

  async function load({ id, directory }: ProbedModule): Promise<ActiveModule> {
    const { name, version, manifest, settingsSchema } = await readPackage(directory)
    const settings = moduleSettings(config, id, settingsSchema)
    const plugin = await loadPlugin(id, directory)
    refuseChangeOfShared()
    return { id, package: name, version, manifest, state: 'active', directory, settings, plugin }
  }
}

/** Where the module went wrong, rather than where the host found out. */
function stackOf(error: Error): string | undefined {
  if (error.cause instanceof Error) return stackOf(error.cause)
  return 'code' in error ? inspect(error) : error.stack
}

/** What has to be parsed for the place of a SyntaxError, which takes a process. */
function unparsedIn(directory: string, { cause }: Error): ProbeFailure['unparsed'] {
  if (!(cause instanceof SyntaxError) || placeOf(cause.stack, directory)) return undefined
  return { message: cause.message, urls: loadedFrom(directory) }
}

function refuseChangeOfShared(): void {
  const change = changeOfShared()
  if (change !== undefined) throw new ModuleError(inHand, `${change}, for the host and all modules`)
}

function begin(module: string): void {
  refuseChangeOfShared()
  inHand = module
  tell({ kind: 'began', module })
}

function tell(message: ProbeMessage): void {
  send?.(message)
}
