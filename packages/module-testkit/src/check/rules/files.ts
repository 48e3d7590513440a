import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { firstError, type ModulePackage } from '@mortise/application'
import { moduleMigrations } from '@mortise/host'
import { engineNames, readMigrations } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import type { Found, Rule } from '../world/finding.ts'

// What the files show, before any code runs.

interface Files {
  readonly package: ModulePackage
  readonly json: Readonly<Record<string, unknown>>
}

const migrationFiles: Rule<Files> = {
  code: 'migration-files',
  finds: 'migrations that are missing, wrongly named or numbered, or there for one engine only',
  remedy:
    'Name them 001-name.sql without gaps; if the engines differ, write 001-name.sqlite.sql and 001-name.postgres.sql.',
  async find({ package: found }) {
    const faults: Found[] = []
    for (const set of moduleMigrations([found])) {
      for (const engine of engineNames) {
        await readMigrations(set, engine).catch(({ message }: Error) => {
          const [file = set.directory] = /\/\S+?(?= of | cannot|,|$)/.exec(message) ?? []
          const where = relative(found.directory, file) || 'migrations'
          faults.push({ where, why: message.replaceAll(`${found.directory}/`, '') })
        })
      }
      if (faults.length === 0) faults.push(...(await loneTwins(found, set.directory)))
    }
    return faults
  },
}

/** A down migration for one engine only leaves the other one irreversible. */
async function loneTwins({ directory }: ModulePackage, folder: string): Promise<Found[]> {
  const files = await readdir(folder)
  const ofEngine = new RegExp(`^(.*)\\.(${engineNames.join('|')})\\.down\\.sql$`)
  return files.flatMap((file) => {
    const [, name] = ofEngine.exec(file) ?? []
    if (name === undefined) return []
    const where = relative(directory, join(folder, file))
    return engineNames
      .map((engine) => `${name}.${engine}.down.sql`)
      .filter((twin) => !files.includes(twin))
      .map((twin) => ({ where, why: `there is no ${twin}`, remedy: `Write ${twin}.` }))
  })
}

const irreversibleMigration: Rule<Files> = {
  code: 'no-down',
  finds: 'a migration that nothing undoes, so that no rollback is possible',
  remedy: 'Write NNN-name.down.sql with the statements that undo it.',
  async find({ package: found }) {
    const missing: Found[] = []
    for (const set of moduleMigrations([found])) {
      const [files, others] = await Promise.all(
        engineNames.map((engine) => readMigrations(set, engine).catch(() => [])),
      )
      for (const { name, path, down } of files ?? []) {
        if (down !== null || others?.some((other) => other.name === name && other.down !== null)) continue
        const where = relative(found.directory, path)
        missing.push({ where, why: 'it cannot be undone', remedy: `Write ${name}.down.sql.` })
      }
    }
    return missing
  },
}

const settingDefaults: Rule<Files> = {
  code: 'setting-default',
  finds: 'a default that its own schema refuses: every start blames the file of the operator',
  remedy: 'Correct the default, or the schema.',
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

const installScripts: Rule<Files> = {
  code: 'install-script',
  finds: 'a script that npm would run on installation: the host runs none',
  remedy: 'Remove it, and publish what it makes.',
  find: ({ json }) =>
    ['preinstall', 'install', 'postinstall']
      .filter((name) => name in ((json.scripts ?? {}) as object))
      .map((name) => ({ where: 'package.json', why: `its "${name}" script does not run` })),
}

const sharedPackages: Rule<Files> = {
  code: 'shared-dependency',
  finds: 'the SDK or Fastify as a dependency: the host provides its own copy',
  remedy: 'Name it in "peerDependencies" (and in "devDependencies" for your tests).',
  find: ({ json }) =>
    ['@mortise/module-sdk', 'fastify']
      .filter((name) => name in ((json.dependencies ?? {}) as object))
      .map((name) => ({ where: 'package.json', why: `"dependencies" names ${name}` })),
}

/** What gives another value each time. */
const VARYING =
  /\b(current_timestamp|current_date|current_time|localtimestamp|(now|random|randomblob|gen_random_uuid|uuidv?[47]|clock_timestamp|statement_timestamp|transaction_timestamp|nextval)\s*\(|(date|time|datetime|julianday|unixepoch|strftime)\s*\([^)]*'now'|unixepoch\s*\(\s*\))/i

const varyingMigrations: Rule<Files> = {
  code: 'migration-varies',
  finds: 'a migration that writes the time or chance into rows: each host, copy and repetition gets others',
  remedy: 'Write a constant, or leave the column empty and let the code fill it.',
  async find({ package: found }) {
    const varying = new Map<string, Found>()
    for (const set of moduleMigrations([found])) {
      for (const engine of engineNames) {
        for (const { path, up } of await readMigrations(set, engine).catch(() => [])) {
          const where = relative(found.directory, path)
          const plain = up.replace(/--.*$|\/\*[\s\S]*?\*\//gm, '')
          const statement = plain
            .split(';')
            .map((one) => one.trim())
            .filter((one) => /^(insert|update|with|delete|replace|alter)\b/i.test(one))
            .find((one) => VARYING.test(one))
          if (statement)
            varying.set(where, { where, why: `it runs ${statement.replace(/\s+/g, ' ').slice(0, 120)}` })
        }
      }
    }
    return [...varying.values()]
  },
}

export const fileRules = [
  migrationFiles,
  irreversibleMigration,
  varyingMigrations,
  settingDefaults,
  installScripts,
  sharedPackages,
]
