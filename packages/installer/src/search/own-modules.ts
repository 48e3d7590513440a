import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readDescription } from '../install/fetch/local-registry.ts'
import { indexedNames, indexedPackage, shippedPackage, workspaceFolder } from '../store/module-index.ts'
import { type Described, described, type FoundModule, matches } from './found-module.ts'

/** The modules that travel with the command. */
export async function ownModules(words: readonly string[]): Promise<FoundModule[]> {
  const found = indexedNames.map(async (spec) => {
    const name = indexedPackage(spec) as string
    const json = await readOwn(name)
    if (json === undefined || !matches(words, [spec, name, json.description, json.keywords])) return []
    return [{ ...described(json), spec, package: name, from: 'command' as const, publisher: 'Mortise' }]
  })
  return (await Promise.all(found)).flat()
}

async function readOwn(name: string): Promise<Described | undefined> {
  const folder = workspaceFolder(name)
  if (folder !== undefined) return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const shipped = shippedPackage(name)
  return shipped && readDescription(await readFile(shipped.file))
}
