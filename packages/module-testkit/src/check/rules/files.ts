import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { firstError, type ModulePackage, moduleMigrations, readMigrations } from '@mortise/host'
import type { TSchema } from '@sinclair/typebox'
import type { Found, Rule } from '../world/finding.ts'

// What the files show, before any code runs.

export interface Files {
  readonly package: ModulePackage
  readonly json: Readonly<Record<string, unknown>>
}

export type FileRule = Rule<Files>

export const migrationFiles: FileRule = {
  code: 'migration-files',
  finds: 'migrations that are missing, wrongly named or numbered, or there for one engine only',
  mend: 'Name them 001-name.sql without gaps; if the engines differ, write 001-name.sqlite.sql and 001-name.postgres.sql.',
  async find({ package: found }) {
    const faults = new Map<string, Found>()
    for (const set of moduleMigrations([found])) {
      for (const engine of ['sqlite', 'postgres'] as const) {
        const error = await readMigrations(set, engine).then(
          () => undefined,
          (error: Error) => error,
        )
        if (error === undefined) continue
        const [file = set.directory] = /\/\S+?(?= of | cannot|,|$)/.exec(error.message) ?? []
        const where = relative(found.directory, file) || 'migrations'
        faults.set(where, { where, why: error.message.replaceAll(`${found.directory}/`, '') })
      }
      if (faults.size === 0)
        for (const fault of await loneTwins(found, set.directory)) faults.set(fault.where, fault)
    }
    return [...faults.values()]
  },
}

/** A down migration for one engine only leaves the other one irreversible. */
async function loneTwins({ directory }: ModulePackage, folder: string): Promise<Found[]> {
  const files = await readdir(folder)
  return files.flatMap((file) => {
    const [, name = '', engine = ''] = /^(.*)\.(sqlite|postgres)\.down\.sql$/.exec(file) ?? []
    const other = engine === 'sqlite' ? 'postgres' : 'sqlite'
    const twin = `${name}.${other}.down.sql`
    if (engine === '' || files.includes(twin)) return []
    const where = relative(directory, join(folder, file))
    return [{ where, why: `there is no ${twin}`, mend: `Write ${twin}.` }]
  })
}

export const irreversibleMigration: FileRule = {
  code: 'no-down',
  finds: 'a migration that nothing undoes, so that no rollback is possible',
  mend: 'Write NNN-name.down.sql with the statements that undo it.',
  async find({ package: found }) {
    const missing: Found[] = []
    for (const set of moduleMigrations([found])) {
      const [files, others] = await Promise.all(
        (['sqlite', 'postgres'] as const).map((engine) => readMigrations(set, engine).catch(() => [])),
      )
      for (const { name, path, down } of files ?? []) {
        if (down !== null || others?.some((other) => other.name === name && other.down !== null)) continue
        const where = relative(found.directory, path)
        missing.push({ where, why: 'it cannot be undone', mend: `Write ${name}.down.sql.` })
      }
    }
    return missing
  },
}

export const settingDefaults: FileRule = {
  code: 'setting-default',
  finds: 'a default that its own schema refuses: every start blames the file of the operator',
  mend: 'Correct the default, or the schema.',
  find({ package: { settingsSchema } }) {
    return Object.entries<TSchema>(settingsSchema?.properties ?? {}).flatMap(([name, schema]) => {
      if (!('default' in schema)) return []
      const wrong = firstError(schema, schema.default)
      if (wrong === undefined) return []
      const why = `the default of the setting "${name}" ${wrong.reason}, and is ${JSON.stringify(schema.default)}`
      return [{ where: 'package.json', why }]
    })
  },
}

const SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']

export const installScripts: FileRule = {
  code: 'install-script',
  finds: 'a script that npm would run on installation: the host runs none',
  mend: 'Remove it, and publish what it makes.',
  find({ json }) {
    const scripts = Object.keys((json.scripts ?? {}) as object).filter((name) =>
      SCRIPTS.slice(0, 3).includes(name),
    )
    return scripts.map((name) => ({ where: 'package.json', why: `its "${name}" script does not run` }))
  },
}

export const sharedPackages: FileRule = {
  code: 'shared-dependency',
  finds: 'the SDK or Fastify as a dependency: the host provides its own copy',
  mend: 'Name it in "peerDependencies" (and in "devDependencies" for your tests).',
  find({ json }) {
    const own = Object.keys((json.dependencies ?? {}) as object)
    return own
      .filter((name) => ['@mortise/module-sdk', 'fastify'].includes(name))
      .map((name) => ({ where: 'package.json', why: `"dependencies" names ${name}` }))
  },
}

/** Lines of the migrations, for the place of what a database finds. */
export async function lineIn(found: ModulePackage, text: RegExp): Promise<string | undefined> {
  for (const set of moduleMigrations([found])) {
    for (const file of (await readdir(set.directory)).sort()) {
      const lines = (await readFile(join(set.directory, file), 'utf8')).split('\n')
      const index = lines.findIndex((line) => text.test(line))
      if (index >= 0) return `${relative(found.directory, join(set.directory, file))}:${index + 1}`
    }
  }
  return undefined
}
