import { fetchJson } from '../install/fetch/fetch-json.ts'
import type { NpmOptions } from '../install/fetch/npm-libraries.ts'
import { publishedManifest } from '../install/fetch/verify-signature.ts'
import { foreignText } from '../reporting/foreign-text.ts'
import { type Described, described, type FoundModule, isPackageName, undescribed } from './found-module.ts'

/** The keyword of a module's package.json, by which it is found. */
const keyword = 'mortise-module'

/** The most results of one registry. */
const most = 20

/** The addresses of all configured registries. */
export const registriesOf = (npm: NpmOptions): string[] => [
  ...new Set(
    Object.entries(npm).flatMap(([key, value]) => (/^(@[^:]+:)?registry$/.test(key) ? [String(value)] : [])),
  ),
]

/** @throws {Error} from npm's library, if the registry cannot be searched */
export async function registryModules(
  words: readonly string[],
  registry: string,
  npm: NpmOptions,
): Promise<FoundModule[]> {
  const query = { text: `keywords:${keyword} ${words.join(' ')}`, size: most }
  const response = await fetchJson('/-/v1/search', { ...npm, registry }, { query })
  const { objects } = (response ?? {}) as { readonly objects?: unknown }
  if (!Array.isArray(objects)) throw new Error('its response is not a list of packages')
  const names = objects.map((object) => object?.package?.name).filter(isPackageName)
  const found = names.slice(0, most).map(async (name) => {
    const module = await describeModule(name, npm)
    // Some registries do not understand "keywords:".
    return module.keywords === undefined || module.keywords.includes(keyword) ? [module.found] : []
  })
  return (await Promise.all(found)).flat()
}

/** @param target `name@range` */
export async function describeModule(target: string, npm: NpmOptions) {
  const name = target.replace(/(?<=.)@.*$/, '')
  const spec = name.startsWith('@') ? name : `npm:${name}`
  const module = { spec, package: name, from: 'registry' as const }
  try {
    const { manifest, signed, ages } = await publishedManifest(target, npm)
    const json = manifest as unknown as Described & { _npmUser?: { name?: unknown } }
    const { name: user } = json._npmUser ?? {}
    const publisher = typeof user === 'string' ? foreignText(user, 100) : null
    const { published } = ages
    const found = { ...described(json), ...module, publisher, published, signed: signed ?? null }
    return { found, keywords: Array.isArray(json.keywords) ? json.keywords : [] }
  } catch (error) {
    return { found: { ...undescribed((error as Error).message), ...module } }
  }
}
