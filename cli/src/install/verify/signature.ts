import type { LockedPackage } from '@mortise/host'
import { Failure } from '../../failures/index.ts'
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
  const former = locked?.package === fresh.name ? locked.signed : undefined
  if (former === undefined || source.kind !== 'registry') return
  const lost =
    signed === undefined ? 'signature' : former.provenance && !signed.provenance ? 'provenance' : undefined
  if (lost === undefined) return
  throw new Failure(
    'refused',
    'signature',
    `The package ${fresh.name}@${fresh.version} is refused: it has no ${lost}, and ${locked?.version}, which is installed, has one.`,
    'Ask its author before anything else. To accept it all the same, pack it and install the .tgz file.',
  )
}
