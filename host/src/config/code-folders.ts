import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let code: readonly string[] | undefined

/**
 * The files of the host and of all that it imports, for a child process that may read nothing else. An
 * application may lie beside or above them.
 */
export function codeFolders(): readonly string[] {
  if (code !== undefined) return code
  const imported = ['@mortise/storage', '@mortise/module-sdk'].map((name) =>
    fileURLToPath(import.meta.resolve(name)),
  )
  const files = [import.meta.filename, ...imported].flatMap((file) => filesOf(packageOf(file)))
  // SQLite's library looks in the first one for the kind of C library.
  code = [...new Set(['/proc/self/maps', ...files])]
  return code
}

/** What a package has, but not what other programs have put there, and the packages that it finds. */
function filesOf(folder: string): string[] {
  const own = readdirSync(folder).filter((name) => !name.startsWith('.'))
  return [...own.map((name) => join(folder, name)), ...packagesAbove(folder)]
}

function packageOf(file: string): string {
  const folder = dirname(realpathSync(file))
  return existsSync(join(folder, 'package.json')) ? folder : packageOf(folder)
}

function packagesAbove(folder: string): string[] {
  const packages = join(folder, 'node_modules')
  const above = dirname(folder) === folder ? [] : packagesAbove(dirname(folder))
  return existsSync(packages) ? [packages, realpathSync(packages), ...above] : above
}
