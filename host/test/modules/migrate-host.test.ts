import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NewerHostError } from '@mortise/application'
import t from 'tap'
import { temporaryMigrations } from '../../../packages/storage/test/temporary-migrations.ts'
import { migrateHost } from '../../src/modules/migrate-host.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { ownMigrations } from './own-migrations.ts'

t.test(
  'a database that a newer host has migrated is refused, and taken again once that is undone',
  async (t) => {
    const { storage, write } = await temporaryMigrations(t)
    const note = `${String(ownMigrations.length + 1).padStart(3, '0')}-note`
    const text = (file: string) => readFile(join(hostMigrations.directory, file), 'utf8')
    const own = await readdir(hostMigrations.directory)
    const files = {
      ...Object.fromEntries(await Promise.all(own.map(async (file) => [file, await text(file)]))),
      [`${note}.sql`]: 'CREATE TABLE mortise_note (text TEXT)',
      [`${note}.down.sql`]: 'DROP TABLE mortise_note',
    }
    const newer = { ...write('host', files), tables: hostMigrations.tables }
    t.same(
      await migrateHost(storage),
      ownMigrations.map((name) => ({ module: 'host', name })),
    )
    await storage.migrate([newer])
    await t.rejects(migrateHost(storage), NewerHostError)
    await t.rejects(migrateHost(storage), {
      message: new RegExp(`it has ${note} of "host", which \\d+\\.\\d+\\.\\d+ does not know`),
    })
    await storage.undo([{ module: 'host', name: note }])
    t.same(await migrateHost(storage), [])
  },
)
