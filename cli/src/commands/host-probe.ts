import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { inTemporaryFolder, readConfig, readLockFile, readPackage } from '@mortise/application'
import { hostVersion, migrateHost, openStorage, probe } from '@mortise/host'
import type { HostTrial } from '@mortise/installer'
import { checkModules } from '@mortise/installer'
import { readPackageJson } from '@mortise/installer/store'
import type { DatabaseSchema } from '@mortise/storage'
import type { Command } from '../terminal/command.ts'

/** Runs in the new host's own process, for `app host-upgrade`, with the trial on stdin. */
export const command: Command = {
  examples: ['app host-probe --json < trial.json'],

  async run({ terminal, application }) {
    const directory = await application()
    const { modules, schema } = (await json(terminal.streams.stdin)) as HostTrial
    await readLockFile(directory)
    const config = await readConfig(directory)
    const found = await Promise.all(
      modules.map(async (module) => ({
        package: await readPackage(module.directory),
        json: await readPackageJson(module.directory),
      })),
    )
    await checkModules(found, [], config)
    const migrations = await rehearseMigrations(directory, schema)
    await probe(config, modules)
    terminal.result({ host: hostVersion, migrations }, `The host ${hostVersion} can take over.`)
  },
}

/** Runs the migrations of the host's own tables on an empty database with this schema. */
async function rehearseMigrations(directory: string, schema: DatabaseSchema): Promise<string[]> {
  return await inTemporaryFolder(directory, async (scratch) => {
    const storage = await openStorage({ file: join(scratch, 'probe.db'), durable: false, schema })
    try {
      return (await migrateHost(storage)).map(({ name }) => name)
    } finally {
      await storage.close()
    }
  })
}
