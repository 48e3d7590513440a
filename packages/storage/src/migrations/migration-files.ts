import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@mortise/module-sdk'
import { engineNames, engines } from '../port/engines.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'

/** One migration of a set, in the form for one engine. */
export interface MigrationFile {
  /** `001-cart` */
  readonly name: string
  readonly path: string
  readonly up: string
  /** Undoes `up`; null if irreversible. */
  readonly down: string | null
  /** SHA-256 of `up`, hexadecimal. */
  readonly checksum: string
}

const FILE_NAME = new RegExp(`^(\\d{3}(?:[-_][a-z0-9]+)+)(?:\\.(${engineNames.join('|')}))?(\\.down)?\\.sql$`)

interface FoundFile {
  readonly file: string
  readonly name: string
  readonly engine: string | undefined
  readonly down: boolean
}

/**
 * Reads a folder of migrations for `engine`: `NNN-name.sql` for every engine or
 * `NNN-name.sqlite.sql` for one, and the down migration `NNN-name.down.sql`
 * (`NNN-name.sqlite.down.sql`), without which it is irreversible. Numbers run from 001 without
 * gaps.
 *
 * @throws {MigrationError}
 */
export async function readMigrations(set: MigrationSet, engine: Engine): Promise<MigrationFile[]> {
  const byName = Map.groupBy(await findFiles(set), ({ name }) => name)
  const names = [...byName.keys()].sort()
  names.forEach((name, index) => {
    const expected = String(index + 1).padStart(3, '0')
    if (name.startsWith(expected)) return
    const rule = 'migrations are numbered from 001 without gaps, each number once'
    throw fault(set, `${name}.sql`, `should have the number ${expected}: ${rule}`)
  })
  return Promise.all(
    names.map(async (name) => {
      const found = byName.get(name) as FoundFile[]
      const upFile = pick(set, engine, name, found, false)
      if (upFile === undefined)
        throw fault(set, name, `has no file for ${engines[engine].title}: add ${name}.${engine}.sql`)
      const up = await readSql(set, upFile)
      const downFile = pick(set, engine, name, found, true)
      const down = downFile === undefined ? null : await readSql(set, downFile)
      return { name, path: join(set.directory, upFile), up, down, checksum: checksumOf(up) }
    }),
  )
}

const fault = ({ module, directory }: MigrationSet, file: string, what: string, options?: ErrorOptions) =>
  new MigrationError(`${join(directory, file)} of ${module} ${what}`, options)

async function findFiles(set: MigrationSet): Promise<FoundFile[]> {
  const files = await readdir(set.directory).catch((error: Error) => {
    throw new MigrationError(
      `the migrations of ${set.module} cannot be read: ${error.message}. Does its manifest name the folder?`,
      { cause: error },
    )
  })
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => {
      const [, name, engine, down] = FILE_NAME.exec(file) ?? []
      if (name !== undefined) return { file, name, engine, down: down !== undefined }
      const right = 'write 001-some-name.sql, 001-some-name.sqlite.sql or 001-some-name.down.sql'
      throw fault(set, file, `is not a migration name: ${right}`)
    })
}

/** The SHA-256 of a migration's text, hexadecimal. */
export const checksumOf = (text: string): string => createHash('sha256').update(text).digest('hex')

function pick(
  set: MigrationSet,
  engine: Engine,
  name: string,
  found: readonly FoundFile[],
  down: boolean,
): string | undefined {
  const files = found.filter((file) => file.down === down)
  if (files.length > 1 && files.some(({ engine }) => engine === undefined)) {
    const choice = files.map(({ file }) => file).join(' or ')
    throw fault(set, name, `exists for all engines and for one: keep ${choice}`)
  }
  return files.find((file) => (file.engine ?? engine) === engine)?.file
}

const readSql = (set: MigrationSet, file: string): Promise<string> =>
  readFile(join(set.directory, file), 'utf8').catch((error: Error) => {
    throw fault(set, file, `cannot be read: ${error.message}`, { cause: error })
  })
