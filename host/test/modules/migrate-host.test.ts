import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { migrateHost } from '../../src/modules/migrate-host.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { NewerHostError } from '../../src/newer-host-error.ts'
import { temporaryMigrations } from '../storage/temporary-migrations.ts'

t.test(
  'a database that a newer host has migrated is refused, and taken again once that is undone',
  async (t) => {
    const { storage, write } = await temporaryMigrations(t)
    const first = await readFile(join(hostMigrations.directory, '001-guest.sql'), 'utf8')
    const files = {
      '001-guest.sql': first,
      '002-note.sql': 'CREATE TABLE mortise_note (text TEXT)',
      '002-note.down.sql': 'DROP TABLE mortise_note',
    }
    const newer = { ...write('host', files), tables: hostMigrations.tables }
    t.same(await migrateHost(storage), [{ module: 'host', name: '001-guest' }])
    await storage.migrate([newer])
    await t.rejects(migrateHost(storage), NewerHostError)
    await t.rejects(migrateHost(storage), {
      message: /it has 002-note of "host", which \d+\.\d+\.\d+ does not know/,
    })
    await storage.undo([{ module: 'host', name: '002-note' }])
    t.same(await migrateHost(storage), [])
  },
)
