import { readdirSync } from 'node:fs'
import { hostMigrations } from '../../src/modules/migration-sets.ts'

/** The names of the host's migrations, in order: `001-host`. */
export const ownMigrations = [
  ...new Set(
    readdirSync(hostMigrations.directory)
      .filter((file) => !file.endsWith('.down.sql'))
      .map((file) => file.replace(/(\.\w+)?\.sql$/, '')),
  ),
].sort()
