import { join } from 'node:path'
import { databaseAddress, readConfig } from '@mortise/application'
import { openStorage, runWithoutHost } from '@mortise/host'
import { one, run, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { entryModule } from './entry-module.ts'
import { copiesOf } from './run-app.ts'

const prepared = copiesOf(async ({ root, directory, run }) => {
  const installed = await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'entry.tgz'), entryModule()),
  )
  if (installed.exitCode !== 0) throw new Error(installed.stdout)
  await write(directory, 3)
  const saved = await run('backup', join(root, 'backup.tgz'))
  if (saved.exitCode !== 0) throw new Error(saved.stdout)
  await write(directory, 2)
})

/** An application with a module and three entries, a backup of that, and then two more entries. */
export async function backedUp(t: Test) {
  const application = await prepared(t)
  return { ...application, file: join(application.root, 'backup.tgz') }
}

/** Writes entries into the database of a stopped application. */
export async function write(directory: string, times: number): Promise<void> {
  await withStorage(directory, async (storage) => {
    for (let time = 0; time < times; time++) {
      await storage.transaction(function* () {
        const { id } = yield* one<{ id: number }>(sql`INSERT INTO entry (filler) VALUES ('') RETURNING id`)
        yield* run(sql`INSERT INTO entry_twin VALUES (${id})`)
      })
    }
  })
}

/** How many entries the database of a stopped application has. */
export async function count(t: Test, directory: string): Promise<number> {
  return await withStorage(directory, async (storage) => {
    const { entries, twins } = await storage.one<{ entries: number; twins: number }>(
      sql`SELECT (SELECT count(*) FROM entry) AS entries, (SELECT count(*) FROM entry_twin) AS twins`,
    )
    t.equal(entries, twins)
    return entries
  })
}

/** Whether a stopped application has the tables of the module, and their ledger rows. */
export async function hasTables(directory: string): Promise<boolean> {
  const { statements, ledger } = await runWithoutHost(directory, 'schema')
  const inLedger = ledger.some(({ module }) => module === 'entry')
  const inSchema = statements.some((text) => /TABLE entry/.test(text))
  if (inLedger !== inSchema) throw new Error('tables and ledger differ')
  return inSchema
}

type Storage = Awaited<ReturnType<typeof openStorage>>

async function withStorage<Result>(
  directory: string,
  work: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  const storage = await openStorage({
    ...databaseAddress(await readConfig(directory)),
    onFatal: (error) => {
      throw error
    },
  })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}
