import { join, sep } from 'node:path'
import {
  type Decision,
  ManifestError,
  type ModulePackage,
  NoManifestError,
  readNewPackage,
} from '@mortise/application'
import { noManifest, wrongManifest } from '../../failures/index.ts'
import { indexedNames } from '../../store/module-index.ts'
import type { Source } from '../resolve/source.ts'
import { checkContents } from './contents.ts'
import { type Staged, type StageOptions, stagePackage } from './stage-package.ts'

export interface Candidate extends Staged<ModulePackage> {
  /** Of the operator of the bundle's application. */
  readonly decision?: Decision
}

/** Fetches, unpacks and completes a module. */
export async function stage(source: Source, options: StageOptions): Promise<Candidate> {
  // A folder's manifest is read first, because npm's message about a broken package.json is poor.
  if (source.kind === 'folder') await readManifest(source, source.target)
  return await stagePackage(source, options, async (staging) => {
    await checkContents(staging, source.target)
    return await readManifest(source, staging)
  })
}

/** @throws {Failure} if the package is not a module, or its manifest is invalid */
async function readManifest(source: Source, directory: string): Promise<ModulePackage> {
  try {
    return await readNewPackage(directory)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { message } = error
    const hint = source.isOwn ? 'own' : 'others'
    if (error instanceof NoManifestError) {
      throw noManifest({ reason: message, indexed: indexedNames.join(', '), hint, cause: error })
    }
    const reason = directory === source.target ? message : message.replaceAll(join(directory, sep), '')
    throw wrongManifest({ target: source.target, reason, hint, cause: error })
  }
}
