import { join, sep } from 'node:path'
import { ManifestError, type ModulePackage, readPackage } from '@mortise/host'
import { noManifest, noManifestOfYours, wrongManifest, wrongManifestOfYours } from '../../failures/index.ts'
import { indexedNames } from '../resolve/module-index.ts'
import { isOwnFolder, type Source } from '../resolve/source.ts'
import { checkContents } from './contents.ts'
import { type Staged, type StageOptions, stagePackage } from './stage-package.ts'

/** A module that lies in staging. */
export interface Candidate extends Staged<ModulePackage> {
  /** Whether it was switched on where it was bundled. */
  readonly enabled?: boolean
}

/**
 * Fetches, unpacks and completes a module.
 * @throws {Failure}
 */
export async function stage(source: Source, options: StageOptions): Promise<Candidate> {
  // A folder is read first as it lies there: npm packs none whose package.json is broken, and says it badly.
  if (source.kind === 'folder') await readManifest(source, source.target)
  return await stagePackage(source, options, async (staging) => {
    await checkContents(staging, source.target)
    return await readManifest(source, staging)
  })
}

/** @throws {Failure} where the package is no module, or says so wrongly */
async function readManifest(source: Source, directory: string): Promise<ModulePackage> {
  try {
    return await readPackage(directory)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { message } = error
    const own = isOwnFolder(source)
    if (message.includes('is no Mortise module')) {
      throw own
        ? noManifestOfYours({ reason: message, cause: error })
        : noManifest({ reason: message, indexed: indexedNames.join(', '), cause: error })
    }
    const what = directory === source.target ? message : message.replaceAll(join(directory, sep), '')
    throw own
      ? wrongManifestOfYours({ target: source.target, reason: what, cause: error })
      : wrongManifest({ target: source.target, reason: what, cause: error })
  }
}
