import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let own: readonly string[] | undefined

/**
 * The files of this package, of all that it imports, and of the packages of `users`, for a child
 * process that may read nothing else. An application may lie beside or above them.
 */
export function codeFolders(...users: readonly string[]): readonly string[] {
  const imported = () =>
    ['@mortise/storage', '@mortise/module-sdk'].map((name) => fileURLToPath(import.meta.resolve(name)))
  // SQLite's library looks in the first one for the kind of C library.
  own ??= ['/proc/self/maps', ...foldersOf([import.meta.filename, ...imported()])]
  return [...new Set([...own, ...foldersOf(users)])]
}

const foldersOf = (files: readonly string[]) => files.flatMap((file) => filesOf(packageOf(file)))

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
