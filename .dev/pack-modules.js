// Before the command is packed (`prepack` of cli/package.json): packs the modules of its index into cli/modules, with an
// index of the SHA-512 of each. `--clean`: removes them afterwards, since a checkout uses its workspaces.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pack, root } from './pack.js'

const folder = join(root, 'cli', 'modules')

rmSync(folder, { recursive: true, force: true })
if (!process.argv.includes('--clean')) {
  const { indexedNames, indexedPackage } = await import('../packages/installer/dist/store/module-index.js')
  mkdirSync(folder)
  const packed = pack(indexedNames.map(indexedPackage), folder, ['--ignore-scripts'])
  const index = packed.map(({ name, version, integrity, filename }) => [
    name,
    { version, integrity, file: filename },
  ])
  writeFileSync(join(folder, 'index.json'), `${JSON.stringify(Object.fromEntries(index), null, 2)}\n`)
}
