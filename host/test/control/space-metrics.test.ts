import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { spaceMetrics } from '../../src/control/space-metrics.ts'
import { testOnEngines } from '../engines.ts'

const valuesOf = async (...given: Parameters<typeof spaceMetrics>) =>
  Object.fromEntries((await spaceMetrics(...given)).map(({ name, samples }) => [name, samples[0]?.value]))

testOnEngines('the size of the database, and the free space of its disk', async (t, open) => {
  const storage = await open()
  const folder = t.testdir({})
  await writeFile(join(folder, 'app.db'), 'x'.repeat(5000))
  if (storage.engine === 'sqlite') {
    const values = await valuesOf(storage, join(folder, 'app.db'))
    t.equal(values.mortise_database_bytes, 5000 + (storage.wal?.bytes ?? 0))
    t.ok((values.mortise_disk_free_bytes ?? 0) > 0)
  } else {
    const values = await valuesOf(storage, undefined)
    t.ok((values.mortise_database_bytes ?? 0) > 1_000_000, `${values.mortise_database_bytes}`)
    t.notOk('mortise_disk_free_bytes' in values)
  }
})

t.test('without the file there are none', async (t) => {
  t.same(await spaceMetrics({} as never, join(t.testdir({}), 'gone.db')), [])
})
