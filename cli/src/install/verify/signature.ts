import type { LockedPackage } from '@mortise/host'
import { signatureGone } from '../../failures/index.ts'
import type { Staged } from '../fetch/stage-package.ts'

/**
 * A package of a registry whose installed version was signed, or had its provenance attested, is refused
 * without: somebody else may have published it.
 * @throws {Failure} `signature`
 */
export function checkSignatureKept(
  { json: fresh, source, signed }: Staged<unknown>,
  locked: LockedPackage | undefined,
): void {
  if (locked?.signed === undefined || locked.package !== fresh.name || source.kind !== 'registry') return
  const lost =
    signed === undefined
      ? 'signature'
      : locked.signed.provenance && !signed.provenance
        ? 'provenance'
        : undefined
  if (lost === undefined) return
  throw signatureGone({ target: `${fresh.name}@${fresh.version}`, lost, installed: locked.version })
}
