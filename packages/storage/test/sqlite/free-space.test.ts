import { setTimeout as pause } from 'node:timers/promises'
import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { reservedBytes, volumeOf } from '../../src/sqlite/free-space.ts'
import { insertItem, SCHEMA, temporaryStorage } from '../temporary-storage.ts'

const MIB = 1024 * 1024

t.test('64 MiB stay free, less on a small volume, or the configured size', async (t) => {
  t.equal(reservedBytes({ size: 1e12, free: 0 }), 64 * MIB)
  t.equal(reservedBytes({ size: 20 * MIB, free: 0 }), MIB)
  t.equal(reservedBytes({ size: 1e12, free: 0 }, 5), 5)
  t.equal(reservedBytes({ size: 1e12, free: 0 }, 0), 0)
})

t.test('a volume shows its size and what is free', async (t) => {
  const { size, free } = await volumeOf(`${t.testdir()}/app.db`)
  t.ok(size > free && free > 0)
})

t.test('below the mark writes are refused and reads are not, until there is room again', async (t) => {
  let free = 100
  const storage = await temporaryStorage(t, SCHEMA, {
    keepFree: { bytes: 50, read: async () => ({ size: 1000, free }) },
  })
  const insert = (id: number) => storage.transaction(() => run(insertItem(id, `${id}`)))
  const becomes = async (isRefused: boolean) => {
    while ((storage.refusal !== undefined) !== isRefused) await pause(10)
  }
  await insert(1)
  free = 49
  await becomes(true)
  t.match(storage.refusal, /^its disk has 49 free bytes and must keep 50$/)
  await t.rejects(insert(2), { name: 'DatabaseError', kind: 'full' })
  t.equal(storage.refused, 1)
  t.strictSame(await storage.many(sql`SELECT id FROM item`), [{ id: 1 }])
  await storage.undo([])
  free = 55
  // Long enough for several looks: it does not end at the mark itself.
  await pause(600)
  await t.rejects(insert(2), { name: 'DatabaseError', kind: 'full' })
  free = 70
  await becomes(false)
  await insert(2)
  t.equal(storage.refused, 2)
})

t.test('writes are accepted if the file system does not report its free space', async (t) => {
  let asked = 0
  const storage = await temporaryStorage(t, SCHEMA, {
    keepFree: {
      bytes: 50,
      read: async () => {
        asked += 1
        throw new Error('ENOSYS')
      },
    },
  })
  while (asked === 0) await pause(10)
  await storage.transaction(() => run(insertItem(1, 'a')))
  t.equal(storage.refusal, undefined)
})
