import type { LockedModule } from '@mortise/application'
import type { manifest as pacoteManifest } from 'pacote'
import { fetchJson } from './fetch-json.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { loadPacote, loadRegistryFetch } from './npm-libraries.ts'
import { type Attested, builderOf } from './provenance.ts'
import { type AgeLimit, type Ages, chooseVersion, noAges } from './release-age.ts'

export type Manifest = Awaited<ReturnType<typeof pacoteManifest>>

/** The verified signer, and whether the provenance is attested. */
export type Signed = NonNullable<LockedModule['signed']>

export interface PublishedManifest {
  readonly manifest: Manifest
  /** Undefined if the registry offers no keys, or the package has no signature. */
  readonly signed: Signed | undefined
  readonly ages: Ages
}

/**
 * Fetches the manifest of the version to install of `range` (`name@range`) and verifies its signatures and provenance
 * attestations, if the registry publishes its keys. The attestations are verified with the sigstore
 * roots.
 * @param limit without it, the newest version in range, whatever its age
 * @throws {Failure} `too-new`
 * @throws {Error} from pacote, also for a wrong signature: see `isSignatureError`
 */
export async function publishedManifest(
  range: string,
  npm: NpmOptions,
  limit?: AgeLimit,
): Promise<PublishedManifest> {
  const [pacote, fetch] = await Promise.all([loadPacote(), loadRegistryFetch()])
  const registry = fetch.pickRegistry(range, npm)
  const keys = await keysOf(registry, npm)
  // The whole document has the dates.
  const options = { ...npm, fullMetadata: true }
  const { target, ...chosen } = limit
    ? await chooseVersion(range, options, limit)
    : { target: range, ...noAges }
  const describe = (manifest: SignedManifest, signed?: Signed) => ({
    ...{ manifest, signed },
    ages: { ...chosen, published: timeOf(manifest._time) },
  })
  if (keys.length === 0) return describe(await pacote.manifest(target, options))
  const { host, pathname } = new URL(registry)
  const verifying = {
    ...options,
    [`//${host}${pathname}:_keys`]: keys,
    verifySignatures: true,
  }
  const manifest = (await pacote.manifest(target, verifying as never)) as unknown as SignedManifest
  const keyid = manifest._signatures?.[0]?.keyid
  if (keyid === undefined) return describe(manifest)
  if (manifest._attestations === undefined) return describe(manifest, { keyid, provenance: false })
  const exact = `${manifest.name}@${manifest.version}`
  const attested = await pacote.manifest(exact, { ...verifying, verifyAttestations: true } as never)
  const builder = builderOf((attested as unknown as Attested)._attestationBundles)
  return describe(manifest, { keyid, provenance: true, ...builder })
}

/** RFC 3339, UTC; null for what is no time. */
function timeOf(text: unknown): string | null {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

type SignedManifest = Manifest & {
  _time?: string
  _signatures?: readonly { keyid: string }[]
  _attestations?: unknown
}

interface RegistryKey {
  readonly keyid: string
  readonly key: string
  readonly expires: string | null
}

/** The public signing keys of a registry, in pacote's form. Empty if it offers none. */
async function keysOf(registry: string, options: NpmOptions): Promise<(RegistryKey & { pemkey: string })[]> {
  try {
    const response = await fetchJson('/-/npm/v1/keys', { ...options, registry })
    const { keys = [] } = response as { readonly keys?: readonly RegistryKey[] }
    return keys.map((key) => ({
      ...key,
      pemkey: `-----BEGIN PUBLIC KEY-----\n${key.key}\n-----END PUBLIC KEY-----`,
    }))
  } catch (error) {
    const { statusCode } = error as { statusCode?: number }
    if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return []
    throw error
  }
}

const signatureErrors = [
  'EMISSINGSIGNATUREKEY',
  'EEXPIREDSIGNATUREKEY',
  'EINTEGRITYSIGNATURE',
  'EATTESTATIONSUBJECT',
  'EATTESTATIONVERIFY',
]

/** Whether an error means a wrong signature. */
export const isSignatureError = ({ code }: { code?: string }) =>
  code !== undefined && signatureErrors.includes(code)
