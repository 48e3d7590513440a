import { rcompare } from 'semver'
import { readPackages } from '../install/fetch/local-registry.ts'
import type { NpmOptions } from '../install/fetch/npm-libraries.ts'
import { type Described, described, type FoundModule, isPackageName, matches } from './found-module.ts'

/**
 * The newest versions of the modules in a folder of tarballs, which is a registry of the application.
 * @param registry its address in `npm`
 */
export async function folderModules(
  words: readonly string[],
  folder: string,
  registry: string,
  npm: NpmOptions,
): Promise<FoundModule[]> {
  const packages = (await readPackages(folder)).map(({ json }) => json as Described)
  const modules = packages.filter(
    ({ name, mortise, description, keywords }) =>
      mortise !== undefined &&
      isPackageName(name) &&
      registryOf(name, npm) === registry &&
      matches(words, [name, description, keywords]),
  )
  const newestFirst = modules.toSorted((one, other) => rcompare(one.version, other.version))
  return [...Map.groupBy(newestFirst, ({ name }) => name)].map(([name, [newest]]) => ({
    ...described(newest as Described),
    ...{ spec: name.startsWith('@') ? name : `npm:${name}`, package: name, from: 'folder', publisher: null },
  }))
}

/** Where npm looks for a package. */
const registryOf = (name: string, npm: NpmOptions) =>
  (npm as Readonly<Record<string, unknown>>)[`${name.split('/')[0]}:registry`] ?? npm.registry
