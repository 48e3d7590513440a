import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Writes files by path. @returns the folder */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

/** The package.json of a module. */
export const moduleJson = (id: string, version: string, manifest: object, more: object = {}) =>
  JSON.stringify({
    name: id,
    version,
    type: 'module',
    exports: './dist/index.js',
    peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '*' },
    mortise: { id, host: '*', ...manifest },
    ...more,
  })
