import type { LockedPackage } from '@mortise/host'
import { signatureGone } from '../../failures/index.ts'
import type { Staged } from '../fetch/stage-package.ts'

/**
 * Rejects an unsigned or unattested registry package if the installed version had a signature or
 * attested provenance: another person may have published it.
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
