import { join, sep } from 'node:path'
import { ManifestError, type ModulePackage, readPackage } from '@mortise/host'
import { Failure } from '../../failures/index.ts'
import { indexedNames } from '../resolve/module-index.ts'
import { isOwnFolder, type Source } from '../resolve/source.ts'
import { checkContents } from './contents.ts'
import { type Staged, type StageOptions, stagePackage } from './stage-package.ts'

/** A staged module. */
export interface Candidate extends Staged<ModulePackage> {
  /** Whether the module was enabled in the bundle's application. */
  readonly enabled?: boolean
}

/**
 * Fetches, unpacks and completes a module.
 * @throws {Failure}
 */
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
    return await readPackage(directory)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { message } = error
    const own = isOwnFolder(source)
    if (message.includes('is no Mortise module')) {
      throw new Failure(
        'refused',
        'invalid-manifest',
        `The package ${message}`,
        own
          ? 'Add it: "mortise": { "id": …, "host": …, "routes": […] }.'
          : `Nothing was changed. Modules are packages that have one: ${indexedNames.join(', ')}, a folder or .tgz file of yours, or packages of a registry that were written for Mortise.`,
        { cause: error },
      )
    }
    const what = directory === source.target ? message : message.replaceAll(join(directory, sep), '')
    throw new Failure(
      'refused',
      'invalid-manifest',
      `The package ${source.target} is refused: ${what}`,
      own ? 'Correct it there, then try again.' : 'Nothing was changed. Tell the author of the module.',
      { cause: error },
    )
  }
}
