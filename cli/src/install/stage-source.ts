import { isBundle } from './bundle-file.ts'
import { stage } from './candidate.ts'
import type { Source } from './source.ts'
import { type StagedSource, stageBundle } from './stage-bundle.ts'
import type { StageOptions } from './stage-package.ts'

/**
 * Stages what a source holds: one module, or what is in a bundle.
 * @throws {Failure} @throws {ManifestError}
 */
export async function stageSource(source: Source, options: StageOptions): Promise<StagedSource> {
  if (source.kind === 'tarball' && (await isBundle(source.target))) {
    return await stageBundle(source, options.directory)
  }
  return { modules: [await stage(source, options)] }
}
