import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { extname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { moduleSettings, readPackage } from '@mortise/application'
import { rememberPlaces } from '@mortise/module-sdk/unrun-steps'
import type { FastifyInstance } from 'fastify'
import { mintToken } from '../callers/mint-token.ts'
import { createTokenVerifier } from '../callers/token-verifier.ts'
import { openStorage } from '../events/event-log.ts'
import { inContractOrder } from '../modules/contract-registry.ts'
import { locationOf } from '../modules/error-location.ts'
import { type ActiveModule, ModuleError } from '../modules/host-module.ts'
import { loadPlugin } from '../modules/load-plugin.ts'
import { migrateHost } from '../modules/migrate-host.ts'
import { moduleMigrations } from '../modules/migration-sets.ts'
import { loadedFrom } from '../modules/provide-peers.ts'
import { rememberSharedObjects } from '../modules/shared-objects.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createHost } from './create-host.ts'
import type {
  Inspect,
  ObserveRequest,
  ProbedModule,
  ProbeFailure,
  ProbeMessage,
  ProbeReport,
  ProbeRequest,
} from './run-probe.ts'
import { limitThreads, sealProcess } from './seal-process.ts'
import { selfCheck } from './self-check.ts'

// The child process of a probe: it does what activation would do, in a place where nothing can
// break.

const watchdog = new Worker(join(import.meta.dirname, `probe-watchdog${extname(import.meta.filename)}`), {
  workerData: { parent: process.ppid, scratch: process.cwd() },
})
// Registered at the start: the thread may be online before the request arrives.
const watched = once(watchdog, 'online')

// As in the host, modules find no process that waits for their messages.
const send = process.send?.bind(process)
delete process.send

// A module that calls process.exit is found by the stack, which the other process reads.
process.on('exit', () => writeSync(2, `\n${new Error().stack?.replace(/^.*\n/, '')}\n`))

/** How long the modules are watched after their registration, in milliseconds. */
const LINGER = 250

/** The module to blame for the current step. */
let inHand = ''
let changeOfShared = rememberSharedObjects()

process.once('message', (request: ProbeRequest | ObserveRequest) => {
  const done = 'requires' in request ? look(request) : tryOut(request)
  done.then(
    () => report({ kind: 'done' }),
    (error: Error) => {
      const module = error instanceof ModuleError ? error.module : inHand
      const directory = request.modules.find(({ id }) => id === module)?.directory
      const unparsed = directory === undefined ? undefined : unparsedIn(directory, error)
      report({ kind: 'failed', module, reason: error.message, stack: stackOf(error), unparsed })
    },
  )
})

async function look({ modules: [module], requires }: ObserveRequest): Promise<void> {
  const { id, directory } = module as ProbedModule
  inHand = id
  await watched
  limitThreads(watchdog)
  changeOfShared = rememberSharedObjects()
  const { observeModule } = await import('../modules/observe-module.ts')
  report({ kind: 'observed', observed: await observeModule(directory, id, requires) })
}

async function tryOut(request: ProbeRequest): Promise<void> {
  // An error in a query has the module's line below those of the storage.
  Error.stackTraceLimit = 40
  const { config, modules, schema, ask, upgrades, scratch, confined, native, inspection } = request
  await watched
  watchdog.unref()
  rememberPlaces()
  const storage = await openStorage({
    file: join(scratch, 'probe.db'),
    durable: false,
    threads: !confined,
    ...(schema && { schema }),
  })
  await migrateHost(storage)
  if (confined) await sealProcess(scratch, native, watchdog)
  else limitThreads(watchdog)
  changeOfShared = rememberSharedObjects()
  const active: ActiveModule[] = []
  for (const module of modules) {
    begin(module.id)
    active.push(await load(module))
    await storage.migrate(moduleMigrations([await readPackage(module.directory)]))
  }
  const issuer = { issuer: 'urn:mortise:probe', secret: randomBytes(32) }
  let failure = ''
  const app = await createHost({
    config,
    storage,
    logger: createLogger({ ...config.log, level: 'error' }, { write: remember }),
    tokens: createTokenVerifier({ issuers: [issuer] }),
    modules: inContractOrder(active),
    distinctOperations: true,
    onRegister: (id) => begin(id),
  })
  // Work that a module began while it loaded may fail a moment later.
  await setTimeout(LINGER)
  refuseChangeOfShared()
  const admin = await mintToken({ ...issuer, subject: 'self-check', scopes: ['admin'], expiresIn: '1h' })
  const document = await describe(app, config.basePath)
  const asked = active.filter(({ id }) => ask.includes(id))

  const well: ActiveModule[] = []
  for (const module of asked) {
    const failed = await responds(module).catch((error: Error) => error)
    if (failed === undefined) well.push(module)
    else if (upgrades.length === 0) throw failed
  }
  report({ kind: 'report', report: { document, access: Object.fromEntries(app.accesses) } })
  const packages = await Promise.all(upgrades.map(({ directory }) => readPackage(directory)))
  const applied = await storage.migrate(moduleMigrations(packages))
  if (applied.length > 0) for (const module of well) await responds(module)
  // The end of the current version does not matter to the upgrade.
  if (upgrades.length > 0) return
  await app.close()
  await storage.close()
  if (inspection) {
    const { inspect }: { inspect: Inspect } = await import(inspection.file)
    const { input } = inspection
    const note = (note: unknown) => report({ kind: 'noted', note })
    await inspect({ config, modules: inContractOrder(active), scratch, input, begin, note })
  }

  /** A guest rarely gets as far as a user with all rights, and may take another path. */
  async function responds(module: ActiveModule): Promise<undefined> {
    begin(module.id, 'responding')
    failure = ''
    try {
      await selfCheck(app, config.basePath, module)
      await selfCheck(app, config.basePath, module, { authorization: `Bearer ${admin}` })
    } catch (error) {
      if (!(error instanceof ModuleError) || failure === '') throw error
      const where = locationOf(failure, module.directory)
      const what = failure.slice(0, failure.search(/\n +at /)).replace(/\s+/g, ' ')
      throw new ModuleError(module.id, `${error.message}: ${what}${where ? ` (${where})` : ''}`)
    }
  }

  /** Keeps the stack of a failed request, which only the log contains. */
  function remember(line: string): void {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { stack?: string } }
    if (msg === 'a request failed') failure = err?.stack ?? ''
  }

  async function load({ id, directory }: ProbedModule): Promise<ActiveModule> {
    const { name, version, manifest, settingsSchema } = await readPackage(directory)
    const settings = moduleSettings(config, id, settingsSchema)
    const plugin = await loadPlugin(id, directory, { confined })
    refuseChangeOfShared()
    return { id, package: name, version, manifest, state: 'active', directory, settings, plugin }
  }
}

async function describe(app: FastifyInstance, basePath: string): Promise<ProbeReport['document']> {
  const response = await app.inject(`${basePath}/openapi.json`)
  if (response.statusCode === 200) return response.json()
  throw new Error(`it breaks the OpenAPI document (${response.statusCode})`)
}

/** The location in the module, rather than the one at which the host noticed. */
function stackOf(error: Error): string | undefined {
  if (error.cause instanceof Error) return stackOf(error.cause)
  return 'code' in error ? inspect(error) : error.stack
}

/** The files to parse for the location of a SyntaxError, which takes a process. */
function unparsedIn(directory: string, { cause }: Error): ProbeFailure['unparsed'] {
  if (!(cause instanceof SyntaxError) || locationOf(cause.stack, directory)) return undefined
  return { message: cause.message, urls: loadedFrom(directory) }
}

function refuseChangeOfShared(): void {
  const change = changeOfShared()
  if (change !== undefined) throw new ModuleError(inHand, `${change}, for the host and all modules`)
}

function begin(module: string, doing = 'loading'): void {
  refuseChangeOfShared()
  inHand = module
  report({ kind: 'began', module, doing })
}

function report(message: ProbeMessage): void {
  send?.(message)
}
