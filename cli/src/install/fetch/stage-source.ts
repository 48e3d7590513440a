import { MANIFEST } from '../../data/archive-manifest.ts'
import { Failure } from '../../failures/index.ts'
import { beginsWith, isBundle } from '../../store/bundle-file.ts'
import type { Source } from '../resolve/source.ts'
import { stage } from './candidate.ts'
import { type StagedSource, stageBundle } from './stage-bundle.ts'
import type { StageOptions } from './stage-package.ts'

/**
 * Stages what a source holds: one module, or what is in a bundle.
 * @throws {Failure} @throws {ManifestError}
 */
export async function stageSource(source: Source, options: StageOptions): Promise<StagedSource> {
  if (source.kind === 'tarball') {
    if (await isBundle(source.target)) return await stageBundle(source, options.directory)
    if (await beginsWith(source.target, MANIFEST)) throw ofData(source.target)
  }
  return { modules: [await stage(source, options)] }
}

function ofData(file: string): Failure {
  return new Failure(
    'refused',
    'unsafe-package',
    `${file} cannot be installed: it is a backup, or the archive of a module that was purged, and no package.`,
    `Nothing was changed. Put it back: app restore ${file}`,
  )
}
