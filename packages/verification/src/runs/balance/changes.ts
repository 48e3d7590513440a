import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const example = fileURLToPath(new URL('../../../../../docs/examples/tally', import.meta.url))

/**
 * The commands that each host runs in turn, for the life of a third module: docs/examples/tally,
 * and a second version with one more migration.
 * @param folder the folder for its packages
 */
export async function prepareChanges(folder: string): Promise<readonly (readonly string[])[]> {
  const [first, second] = [join(folder, 'tally-1'), join(folder, 'tally-2')]
  await cp(example, first, { recursive: true })
  await cp(example, second, { recursive: true })
  const description = join(second, 'package.json')
  const json = JSON.parse(await readFile(description, 'utf8'))
  await writeFile(description, JSON.stringify({ ...json, version: '1.1.0' }))
  await writeFile(join(second, 'migrations', '002-note.sql'), 'ALTER TABLE tally ADD COLUMN note TEXT;')
  await writeFile(join(second, 'migrations', '002-note.down.sql'), 'ALTER TABLE tally DROP COLUMN note;')
  return [
    ['module-install', '--yes', first],
    ['module-install', '--yes', second],
    ['module-disable', 'tally'],
    ['module-enable', 'tally'],
    ['module-remove', 'tally'],
  ]
}
