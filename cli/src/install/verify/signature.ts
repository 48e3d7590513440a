import type { LockedPackage } from '@mortise/host'
import { Failure } from '../../failures/index.ts'
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
