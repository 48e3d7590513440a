import type Arborist from '@npmcli/arborist'
import semver from 'semver'
import type { Failure } from '../../failures/index.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { loadPacote } from './npm-libraries.ts'
import { type AgeLimit, type Ages, dated, isNone, isYoung, noAges, youngFailure } from './release-age.ts'

/**
 * The ages of a chosen tree, from the documents that npm's library has fetched for it.
 * @param npm the options of that choice, with its documents
 * @param of the package that the tree belongs to
 * @throws {Failure} `too-new` if npm's library left an optional dependency out because it is young
 */
export async function dependencyAges(
  tree: Arborist.Node,
  npm: NpmOptions,
  limit: AgeLimit,
  of: string,
): Promise<Ages> {
  const ages = {
    young: [] as Ages['young'][number][],
    waiting: [] as Ages['waiting'][number][],
    undated: [] as string[],
  }
  const pacote = await loadPacote()
  const seen = new Set<string>()
  for (const node of tree.inventory.values()) {
    const { inert, errors } = node as { inert?: boolean; errors?: readonly Error[] }
    // npm's library leaves out what it cannot find, and what is for another platform.
    if (inert) {
      const failure = errors?.[0] && (await youngDependency(errors[0], npm, limit, of))
      if (failure) throw failure
      continue
    }
    const { packageName: name, version } = node
    const target = `${name}@${version}`
    if (node.isRoot || node.inBundle || seen.has(target)) continue
    seen.add(target)
    const packument = await pacote.packument(name, { ...npm, fullMetadata: true })
    const { time = {}, versions } = packument as { time?: Record<string, string>; versions: object }
    const published = time[version]
    if (published === undefined) ages.undated.push(target)
    else if (isYoung(published, limit)) ages.young.push(dated(name, version, published, limit))
    const ranges = [...node.edgesIn].map(({ spec }) => spec)
    const newer = Object.keys(versions).filter(
      (one) =>
        semver.gt(one, version) &&
        isYoung(time[one], limit) &&
        ranges.every((range) => semver.satisfies(one, range)),
    )
    const newest = limit.allowNew ? undefined : semver.rsort(newer)[0]
    if (newest === undefined) continue
    ages.waiting.push({ ...dated(name, newest, time[newest] as string, limit), instead: version })
  }
  return { ...noAges, ...ages }
}

/** The failure to report instead of npm's "no matching version"; undefined if age is not the reason. */
export async function youngDependency(
  error: { readonly code?: string; readonly name?: string; readonly wanted?: string },
  npm: NpmOptions,
  limit: AgeLimit,
  of: string,
): Promise<Failure | undefined> {
  const { name, wanted = '' } = error
  if (!isNone(error) || limit.allowNew || name === undefined) return undefined
  const pacote = await loadPacote()
  const options = { ...npm, fullMetadata: true }
  const found = await pacote.manifest(`${name}@${wanted}`, options).catch(() => undefined)
  const { _time: published } = (found ?? {}) as { _time?: string }
  if (!found || published === undefined || !isYoung(published, limit)) return undefined
  return youngFailure(dated(found.name, found.version, published, limit), limit, of)
}
