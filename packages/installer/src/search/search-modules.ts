import { readConfig } from '@mortise/application'
import npa from 'npm-package-arg'
import { folderServedAt } from '../install/fetch/local-registry.ts'
import { npmOptions } from '../install/fetch/npm-options.ts'
import { withDocuments } from '../install/fetch/package-documents.ts'
import { foreignText } from '../reporting/foreign-text.ts'
import { folderModules } from './folder-modules.ts'
import { type FoundModule, matches, undescribed } from './found-module.ts'
import { ownModules } from './own-modules.ts'
import { describeModule, registriesOf, registryModules } from './registry-modules.ts'

/** The longest wait for a registry, in milliseconds. */
const LONGEST = 15_000

export interface Found {
  readonly modules: readonly FoundModule[]
  /** The registries that could not be searched, and why. */
  readonly unasked: readonly { readonly registry: string; readonly reason: string }[]
}

/**
 * Searches what travels with the command, the aliases of the application, and the registries; a registry may be
 * a folder of tarballs.
 * @param application undefined outside of an application: there are no aliases
 * @param elsewhere the folder whose .npmrc counts then
 */
export async function searchModules(
  words: readonly string[],
  application: string | undefined,
  elsewhere: string,
): Promise<Found> {
  const signal = AbortSignal.timeout(LONGEST)
  const npm = withDocuments({
    ...(await npmOptions(application ?? elsewhere)),
    fetchRetries: 0,
    timeout: LONGEST,
    signal,
  })
  const aliases: Readonly<Record<string, string>> =
    application === undefined ? {} : (await readConfig(application)).aliases
  const unasked: { registry: string; reason: string }[] = []
  const searches = registriesOf(npm).map(async (registry) => {
    const folder = folderServedAt(registry)
    try {
      if (folder !== undefined) return await folderModules(words, folder, registry, npm)
      return await registryModules(words, registry, npm)
    } catch (error) {
      const reason = signal.aborted ? 'it does not respond in time' : foreignText((error as Error).message)
      unasked.push({ registry: folder ?? registry, reason })
      return []
    }
  })
  const named = Object.entries(aliases).filter((alias) => matches(words, alias))
  const aliased = named.map(async ([alias, target]) => await describeAlias(alias, target))
  const [own, ...others] = await Promise.all([ownModules(words), ...aliased, ...searches])
  const modules = [...own, ...others.flat()]
  const isFirst = (one: FoundModule, index: number) =>
    modules.findIndex((other) => other.package === one.package) === index
  return { modules: modules.filter(isFirst), unasked }

  async function describeAlias(alias: string, target: string): Promise<FoundModule[]> {
    const text = target.replace(/^npm:/, '')
    const module = { spec: alias, from: 'alias' as const }
    if (!npa(text).registry) return [{ ...undescribed(null), ...module, package: target }]
    return [{ ...(await describeModule(text, npm)).found, ...module }]
  }
}
