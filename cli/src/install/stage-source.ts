import { isBundle } from './bundle-file.ts'
import { type Candidate, type StageOptions, stage } from './candidate.ts'
import type { Source } from './source.ts'
import { stageBundle } from './stage-bundle.ts'

/**
 * Stages what a source holds: one package, or those of a bundle.
 * @throws {Failure} @throws {ManifestError}
 */
export async function stageSource(source: Source, options: StageOptions): Promise<readonly Candidate[]> {
  if (source.kind === 'tarball' && (await isBundle(source.target))) {
    return await stageBundle(source, options.directory)
  }
  return [await stage(source, options)]
}
