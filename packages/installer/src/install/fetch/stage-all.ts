import { MANIFEST } from '../../data/archive-manifest.ts'
import { backupIsNoPackage, namedTwice } from '../../failures/index.ts'
import type { Reporter } from '../../reporting/reporter.ts'
import { beginsWith, isBundle } from '../../store/bundle-file.ts'
import type { Source } from '../resolve/source.ts'
import { type Candidate, stage } from './candidate.ts'
import { type StagedSource, stageBundle } from './stage-bundle.ts'
import { stageHost } from './stage-host.ts'
import type { StageOptions } from './stage-package.ts'

/** @throws {Failure} if one module, or the host, has two sources */
export async function stageAll(
  sources: readonly Source[],
  hostSource: Source | undefined,
  options: StageOptions,
  terminal: Reporter,
): Promise<StagedSource> {
  const fetching = <Result>(source: Source, work: () => Promise<Result>) =>
    terminal.during(`Fetching ${source.target}`, work)
  const modules = new Map<string, Candidate>()
  let host =
    hostSource && (await fetching(hostSource, () => stageHost(hostSource, { ...options, limit: undefined })))
  for (const source of sources) {
    const staged = await fetching(source, () => stageSource(source, options))
    for (const candidate of staged.modules) {
      const { id } = candidate.package.manifest
      checkSame(`module ${id}`, modules.get(id), candidate)
      modules.set(id, candidate)
    }
    if (staged.host) checkSame('host', host, staged.host)
    host ??= staged.host
  }
  return { modules: [...modules.values()], host }
}

/** @throws {Failure} if two packages have the same name */
function checkSame(
  what: string,
  previous: Pick<Candidate, 'from' | 'integrity'> | undefined,
  { from, integrity }: Pick<Candidate, 'from' | 'integrity'>,
): void {
  if (previous === undefined || previous.integrity === integrity) return
  throw namedTwice({ what, first: previous.from, second: from })
}

/** Stages the content of a source: one module, or a bundle. */
async function stageSource(source: Source, options: StageOptions): Promise<StagedSource> {
  if (source.kind === 'tarball') {
    if (await isBundle(source.target)) return await stageBundle(source, options.directory)
    if (await beginsWith(source.target, MANIFEST)) throw backupIsNoPackage({ file: source.target })
  }
  return { modules: [await stage(source, options)] }
}
