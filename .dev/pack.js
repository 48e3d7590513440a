// Packs the public packages, as `npm publish` does.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const read = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

/** The workspaces that are published: their folder, and their package.json. */
export const publicPackages = read('.')
  .workspaces.map((folder) => ({ folder, json: read(folder) }))
  .filter(({ json }) => json.private !== true)

/** @returns what npm says of each tarball in `destination`: name, filename, integrity, size, unpackedSize, files */
export function pack(names, destination, options = []) {
  const argv = [
    'pack',
    '--json',
    '--pack-destination',
    destination,
    ...options,
    ...names.flatMap((name) => ['-w', name]),
  ]
  // npm hands the options of `npm publish` down to the scripts that it runs, and so to here.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_(?:dry_run|workspace|tag)/i.test(name)),
  )
  const stdio = ['ignore', 'pipe', 'pipe']
  const shell = process.platform === 'win32'
  return JSON.parse(execFileSync('npm', argv, { cwd: root, env, stdio, shell, encoding: 'utf8' }))
}

/** @param destination a folder for the tarballs */
export function packAll(destination) {
  for (const { folder } of publicPackages) removeLeftovers(join(root, folder))
  const names = publicPackages.map(({ json }) => json.name)
  return pack(names, destination)
}

/** What the compiler made of sources that are gone, which it leaves in `dist`. The page is Vite's. */
function removeLeftovers(folder) {
  const dist = join(folder, 'dist')
  if (!existsSync(dist)) return
  for (const name of readdirSync(dist, { recursive: true })) {
    const [, source] = /^(?!page[\\/])(.+?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(name) ?? []
    if (source !== undefined && !existsSync(join(folder, 'src', `${source}.ts`))) rmSync(join(dist, name))
  }
}
