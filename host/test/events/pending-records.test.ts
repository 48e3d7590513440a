import { readPendingRecords, writePendingRecord } from '@mortise/application'
import { newId } from '@mortise/module-sdk'
import { readTrail } from '../../src/events/audit-trail.ts'
import { importPendingRecords } from '../../src/events/import-records.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { testOnEngines } from '../engines.ts'

const record = (object: string) => ({
  id: newId('audit'),
  at: '2026-11-21T09:30:00.000Z',
  actor: 'os:ann',
  action: 'module-install',
  object,
  outcome: 'done' as const,
  details: { generation: 1 },
})

testOnEngines('pending audit records are imported once, also after a kill', async (t, open) => {
  const directory = t.testdir()
  const storage = await open('', { file: `${directory}/app.db` })
  const [first, second] = [record('api-cart'), record('api-purchase')]
  await writePendingRecord(directory, first)
  await importPendingRecords(directory, storage)
  t.same(await readPendingRecords(directory), [first], 'it waits for the table')

  await storage.migrate([hostMigrations])
  await writePendingRecord(directory, second)
  // Two hosts at once, and a command that was killed before it had taken its file away.
  await Promise.all([importPendingRecords(directory, storage), importPendingRecords(directory, storage)])
  await writePendingRecord(directory, first)
  await importPendingRecords(directory, storage)
  t.same(await readPendingRecords(directory), [])
  const { id: _, ...kept } = first
  const records = await storage.snapshot(() => readTrail({ limit: 10 }))
  t.match(records, [{ object: 'api-purchase' }, { ...kept, requestId: null }])
  t.equal(records.length, 2)
})
