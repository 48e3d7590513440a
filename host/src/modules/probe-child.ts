import { join } from 'node:path'
import { createHost } from '../create-host.ts'
import { moduleSettings } from '../config.ts'
import { hostMigrations, moduleMigrations } from '../storage/migration-sets.ts'
import { openStorage } from '../storage/open-storage.ts'
import { inContractOrder } from './contract-registry.ts'
import { type ActiveModule, ModuleError } from './host-module.ts'
import { loadPlugin } from './load-plugin.ts'
import type { ProbedModule, ProbeMessage, ProbeRequest } from './probe.ts'
import { readPackage } from './read-package.ts'

// The child process of a probe: does what activation would do, in a place where nothing can break.

process.once('message', (request: ProbeRequest) => {
  attempt(request).then(
    () => tell({ kind: 'done' }),
    (error: Error) => {
      const module = error instanceof ModuleError ? error.module : inHand
      tell({ kind: 'failed', module, reason: error.message })
    },
  )
})

let inHand = ''

async function attempt({ config, modules, scratch }: ProbeRequest): Promise<void> {
  const storage = await openStorage({ file: join(scratch, 'probe.db'), onFatal: (error) => { throw error } })
  await storage.migrate([hostMigrations])
  const loaded: ActiveModule[] = []
  for (const module of modules) {
    begin(module.id)
    loaded.push(await load(config, module))
    await storage.migrate(moduleMigrations([await readPackage(module.directory)]))
  }
  const app = await createHost({ config, storage, modules: inContractOrder(loaded), onModule: begin })
  await app.close()
  await storage.close()
}
