import { X509Certificate } from 'node:crypto'
import type { LockedPackage } from '@mortise/application'
import { foreignText } from '../../reporting/foreign-text.ts'

type Signed = NonNullable<LockedPackage['signed']>

/** A manifest whose attestations pacote verified. */
export interface Attested {
  readonly _attestationBundles?: readonly Attestation[]
}

interface Attestation {
  readonly bundle: {
    readonly dsseEnvelope: { readonly payload: string }
    readonly verificationMaterial: {
      readonly certificate?: Certificate
      readonly x509CertificateChain?: { readonly certificates: readonly Certificate[] }
    }
  }
}

interface Certificate {
  readonly rawBytes: string
}

export type Builder = Pick<Signed, 'repository' | 'workflow'>

/**
 * The repository and the workflow that built a package, from its verified attestations. The
 * workflow is the identity in the certificate of the signer, which the certificate authority
 * confirmed, without the branch or tag. The repository is what the signed statement names.
 */
export function builderOf(attestations: readonly Attestation[] = []): Builder {
  for (const { bundle } of attestations) {
    const { certificate, x509CertificateChain: chain } = bundle.verificationMaterial
    const raw = (certificate ?? chain?.certificates[0])?.rawBytes
    // The registry's own attestation is signed with its key, and has no certificate.
    if (raw === undefined) continue
    const names = new X509Certificate(Buffer.from(raw, 'base64')).subjectAltName ?? ''
    const [, uri] = /(?:^|, )URI:"?([^",@]+)/.exec(names) ?? []
    const workflow = uri && foreignText(uri)
    const repository = repositoryOf(bundle.dsseEnvelope.payload)
    return { ...(repository !== undefined && { repository }), ...(workflow !== undefined && { workflow }) }
  }
  return {}
}

/** In the statement of SLSA provenance v1, or of v0.2. */
function repositoryOf(payload: string): string | undefined {
  const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))
  const named =
    predicate?.buildDefinition?.externalParameters?.workflow?.repository ??
    predicate?.invocation?.configSource?.uri
  return typeof named === 'string' ? foreignText(named.replace(/^git\+/, '').replace(/@.*$/, '')) : undefined
}

export interface ProvenanceChange {
  readonly from: Builder
  readonly to: Builder
}

/** Null if both name the same, or nothing is known of the version before. */
export function provenanceChange(
  before: Signed | undefined,
  now: Signed | undefined,
): ProvenanceChange | null {
  const differs = (key: keyof Builder) => before?.[key] !== undefined && before[key] !== now?.[key]
  if (!before || !now || !(differs('repository') || differs('workflow'))) return null
  const builder = ({ repository, workflow }: Signed): Builder => ({
    ...(repository !== undefined && { repository }),
    ...(workflow !== undefined && { workflow }),
  })
  return { from: builder(before), to: builder(now) }
}
