import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createTokenVerifier } from '../callers/tokens.ts'
import { moduleSettings, tokenIssuers } from '../config.ts'
import { createHost } from '../create-host.ts'
import { createLogger } from '../logger.ts'
import { openStorage } from '../storage/open-storage.ts'
import { inContractOrder } from './contract-registry.ts'
import { type ActiveModule, ModuleError } from './host-module.ts'
import { loadPlugin } from './load-plugin.ts'
import { hostMigrations, moduleMigrations } from './migration-sets.ts'
import type { ProbedModule, ProbeMessage, ProbeRequest } from './probe.ts'
import { readPackage } from './read-package.ts'

// The child process of a probe: does what activation would do, in a place where nothing can break.

// Whoever asked may be killed, and a module may keep this thread busy for ever: another one looks.
const parent = process.ppid
const watchdog = `setInterval(() => process.ppid === ${parent} || process.kill(process.pid, 'SIGKILL'), 500)`
new Worker(watchdog, { eval: true }).unref()

/** How long the modules are watched once they are registered, in milliseconds. */
const LINGER = 250

/** Which module is to blame for what happens now. */
let inHand = ''

process.once('message', (request: ProbeRequest) => {
  tryOut(request).then(
    () => tell({ kind: 'done' }),
    (error: Error) => {
      const module = error instanceof ModuleError ? error.module : inHand
      tell({ kind: 'failed', module, reason: error.message, stack: stackOf(error) })
    },
  )
})

async function tryOut({ config, modules, scratch }: ProbeRequest): Promise<void> {
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
  await app.close()
  await storage.close()

  async function load({ id, directory }: ProbedModule): Promise<ActiveModule> {
    const { name, version, manifest, settingsSchema } = await readPackage(directory)
    const settings = moduleSettings(config, id, settingsSchema)
    return {
      id,
      package: name,
      version,
      manifest,
      state: 'active',
      directory,
      settings,
      plugin: await loadPlugin(id, directory),
    }
  }
}

/** Where the module went wrong, rather than where the host found out. */
function stackOf({ stack, cause }: Error): string | undefined {
  return cause instanceof Error ? stackOf(cause) : stack
}

function begin(module: string): void {
  inHand = module
  tell({ kind: 'began', module })
}

function tell(message: ProbeMessage): void {
  process.send?.(message)
}
