import { relative } from 'node:path'
import { hostMigrations, moduleMigrations } from '@mortise/host'
import { byEngine, sql } from '@mortise/module-sdk'
import { type AppliedMigration, engines, readMigrations } from '@mortise/storage'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'
import { lostRows } from './lost-rows.ts'

export const foreignKeys: Rule<World> = {
  code: 'foreign-key',
  finds: "a foreign key to another module's table: PostgreSQL refuses it, and it blocks --purge",
  remedy: 'Keep the id without REFERENCES, and ask the other module through its contract.',
  async find(world) {
    const own = await world.tables.names()
    const found: Found[] = []
    for (const table of own) {
      const keys = await world.storage.many<{ parent: string }>(
        byEngine({
          sqlite: sql`SELECT "table" AS parent FROM pragma_foreign_key_list(${table})`,
          postgres: sql`
            SELECT relname::text AS parent FROM pg_constraint JOIN pg_class ON pg_class.oid = confrelid
            WHERE contype = 'f' AND conrelid = to_regclass(${table})`,
        }),
      )
      for (const { parent } of keys) {
        if (own.includes(parent.toLowerCase())) continue
        found.push({ where: `table ${table}`, why: `it refers to "${parent}", which is not the module's` })
      }
    }
    return found
  },
}

const CHANGES = /\b(create\s+(unique\s+)?(table|index)|alter\s+table|drop\s+(table|index))\b/i

/** Last: it drops all rows. */
/** What the undoing shows besides. */
const lostBy: Found[] = []

export const lossyMigrations: Rule<World> = {
  code: 'migration-loses-rows',
  finds: 'rows that a migration, or its down, loses or changes without saying so',
  remedy: 'Copy every row and column; if rows must go, say so in a comment: -- deletes …',
  find: () => lostBy.splice(0),
}

export const migrations: Rule<World> = {
  code: 'migration-fails',
  finds: 'a migration that fails when it is undone, or applied again on rows',
  remedy: 'Correct the down migration: it undoes exactly what the migration did, in reverse order.',
  async find(world) {
    const { storage, module } = world
    const sets = moduleMigrations([module])
    const [set] = sets
    if (set === undefined) return []
    const before = await world.tables.schema()
    const files = await readMigrations(set, storage.engine)
    let above = before
    const applied = (await storage.applied()).filter((one) => one.module === module.id)
    const found = ({ name }: AppliedMigration, why: string) => [
      { where: `${module.manifest.migrations}/${name}.down.sql`, why },
    ]
    for (const [index, first] of [...applied.entries()].reverse()) {
      const undone = applied.slice(index)
      // One without a down is found by its file.
      if (undone.some(({ reversible }) => !reversible)) return []
      try {
        const full = await world.tables.contents()
        await storage.undo(undone)
        const schema = await world.tables.schema()
        const { up = '', path = '' } = files.find(({ name }) => name === first.name) ?? {}
        const showsAll = engines[storage.engine].altersColumnsOnly
        if (showsAll && schema === above && CHANGES.test(up))
          return found(first, 'it undoes nothing: the tables are the same as before')
        above = schema
        const down = await world.tables.contents()
        const left = index === 0 ? await world.tables.names() : []
        if (left.length > 0) return found(first, `it leaves ${left.map((name) => `"${name}"`).join(', ')}`)
        await storage.migrate([hostMigrations, ...sets])
        const lost = lostRows(first.name, up, { full, down, again: await world.tables.contents() })
        if (lost !== undefined) {
          const down = `${module.manifest.migrations}/${first.name}.down.sql`
          lostBy.push({ why: lost.why, where: lost.inDown ? down : relative(module.directory, path) })
          return []
        }
      } catch (error) {
        const { message } = error as Error
        const named = applied.find(({ name }) => message.includes(name)) ?? first
        return found(named, message.replaceAll(`${module.directory}/`, ''))
      }
      if ((await world.tables.schema()) !== before)
        return found(first, 'down and up again give another schema than up alone')
    }
    return []
  },
}
