import { randomUUID } from 'node:crypto'
import { relative, sep } from 'node:path'
import { type LockFile, readConfig } from '@mortise/application'
import parseLicense from 'spdx-expression-parse'
import ssri from 'ssri'
import { type InstalledTree, installedTrees, type TreePackage } from '../store/package-tree.ts'
import { licenseOf } from './plan/dependency-list.ts'

// CycloneDX 1.6 (ECMA-424) in JSON. The document is plain data of few kinds, so no library makes it;
// a test checks it against the schema of the format.

/** What is installed: the host, the modules and their dependencies. */
export async function billOfMaterials(directory: string, lock: LockFile) {
  const { name, version } = await readConfig(directory)
  const trees = await installedTrees(directory, lock)
  const found = new Map<string, { ref: string; package: TreePackage; tree: InstalledTree }>()
  for (const tree of trees) {
    for (const [folder, one] of tree.packages) {
      if (!found.has(folder)) found.set(folder, { ref: refIn(tree, folder), package: one, tree })
    }
  }
  const refs = (folders: readonly string[]) =>
    [...new Set(folders.flatMap((one) => found.get(one)?.ref ?? []))].sort()
  const application = { type: 'application', 'bom-ref': 'application', name, version }
  const roots = trees.map(({ root }) => root.directory)
  const sorted = [...found.values()].sort((one, other) => (one.ref < other.ref ? -1 : 1))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: new Date().toISOString(), component: application },
    components: sorted.map(({ ref, package: one, tree }) => componentOf(ref, one, tree)),
    dependencies: [
      { ref: application['bom-ref'], dependsOn: refs(roots) },
      ...sorted.map(({ ref, package: { dependsOn } }) => ({ ref, dependsOn: refs(dependsOn) })),
    ],
  }
}

/** By place, because one version may be there twice, with other dependencies. */
function refIn({ id, root }: InstalledTree, folder: string): string {
  const place = relative(root.directory, folder).split(sep).join('/')
  return `${id}@${root.version}${place && `/${place}`}`
}

function componentOf(ref: string, one: TreePackage, tree: InstalledTree) {
  const { name, version, integrity, json } = one
  const at = one === tree.root ? tree : undefined
  const license = licenseOf(json)
  const hashes = Object.values(ssri.parse(integrity ?? '')?.sha512 ?? {})
  const properties = [
    ...(at ? [{ name: 'mortise:id', value: at.id }] : []),
    ...(at?.locked ? [{ name: 'mortise:spec', value: at.locked.spec }] : []),
  ]
  // A registry may have another package of that name.
  const isLocal = at?.locked?.spec.startsWith('file:') === true
  return {
    type: at?.id === 'host' ? 'framework' : 'library',
    'bom-ref': ref,
    ...(name.startsWith('@') && { group: name.split('/')[0] }),
    name: name.replace(/^@[^/]*\//, ''),
    version,
    ...(hashes.length > 0 && {
      hashes: hashes.map(({ digest }) => ({
        alg: 'SHA-512',
        content: Buffer.from(digest, 'base64').toString('hex'),
      })),
    }),
    ...(license !== null && { licenses: [licenseChoice(license)] }),
    ...(!isLocal && { purl: `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}` }),
    ...(properties.length > 0 && { properties }),
  }
}

function licenseChoice(text: string) {
  try {
    parseLicense(text)
    return { expression: text }
  } catch {
    return { license: { name: text } }
  }
}
