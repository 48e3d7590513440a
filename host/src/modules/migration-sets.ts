import { join } from 'node:path'
import type { ModulePackage } from '@mortise/application'
import type { MigrationSet } from '@mortise/storage'

export const hostMigrations: MigrationSet = {
  module: 'host',
  directory: join(import.meta.dirname, '..', '..', 'migrations'),
  tables: 'mortise',
}

export function moduleMigrations(
  packages: readonly Pick<ModulePackage, 'manifest' | 'directory'>[],
): MigrationSet[] {
  return packages.flatMap(({ directory, manifest: { id, migrations, tables } }) =>
    migrations === undefined || tables === undefined
      ? []
      : [{ module: id, directory: join(directory, migrations), tables }],
  )
}
