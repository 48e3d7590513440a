import { join, sep } from 'node:path'
import {
  type Config,
  callApplication,
  type DatabaseSchema,
  ModuleError,
  type ModulePackage,
  type ProbeReport,
  probe,
} from '@mortise/host'
import {
  breaksFormer,
  breaksFormerOfYours,
  type Failure,
  probeFailed,
  probeOfYoursFailed,
} from '../../failures/index.ts'

export interface ProbedChange {
  /** What serves once the change is made. */
  readonly next: ProbeReport
  /** What serves now; undefined where nothing is replaced, or what is cannot be loaded. */
  readonly former: ProbeReport | undefined
}

interface Tried {
  readonly config: Config
  /** What the database has now. */
  readonly schema: DatabaseSchema
}

/**
 * Proves in child processes, on databases with the schema of the application's, that the fresh modules load beside
 * the installed ones and answer; and that what they take the place of goes on answering once they have migrated,
 * since it serves until the switch, and again after a rollback. An installed module that fails without the change
 * too does not stand in its way.
 *
 * @param replaced the active versions that the fresh ones take the place of
 * @param own the ids of fresh modules that lie in a folder of who runs the command
 * @throws {Failure} `probe-failed`, `breaks-former`
 */
export async function probeCandidates(
  config: Config,
  installed: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
  replaced: readonly ModulePackage[] = [],
  own: ReadonlySet<string> = new Set(),
): Promise<ProbedChange> {
  const tried = { config, schema: await callApplication(config.directory, 'schema') }
  let others = installed
  for (;;) {
    const found = await probeAll(tried, [...others, ...fresh], { ask: fresh })
    if (!(found instanceof ModuleError)) {
      return { next: found, former: await probeFormer(tried, others, replaced, fresh, own) }
    }
    const { module, message } = found
    const culprit = fresh.find(({ manifest }) => manifest.id === module)
    if (culprit) {
      // It lies in staging, and will not any more when somebody looks.
      const reason = message.replaceAll(join(culprit.directory, sep), '')
      throw refused(`The module ${module} is refused: ${reason}.`, found, own.has(module))
    }
    const alone = await probeAll(tried, others)
    const rest = without(others, module)
    if (!(alone instanceof ModuleError) || alone.module !== module || rest.length === others.length)
      throw refused(`The module ${module} would fail with this change: ${message}.`, found)
    others = rest
  }
}

/** Whoever cannot be loaded is left out, until the rest can. */
async function probeFormer(
  tried: Tried,
  installed: readonly ModulePackage[],
  replaced: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
  own: ReadonlySet<string>,
): Promise<ProbeReport | undefined> {
  let [others, former] = [installed, replaced]
  while (former.length > 0) {
    const found = await probeAll(tried, [...others, ...former], { ask: former, upgrades: fresh })
    if (!(found instanceof ModuleError)) {
      if (found.unfit) throw formerFails(found.unfit, former, fresh, own)
      return found
    }
    const [length, { module }] = [others.length + former.length, found]
    others = without(others, module)
    former = without(former, module)
    if (others.length + former.length === length) throw found
  }
  return undefined
}

const without = (packages: readonly ModulePackage[], id: string) =>
  packages.filter(({ manifest }) => manifest.id !== id)

async function probeAll(
  { config, schema }: Tried,
  packages: readonly ModulePackage[],
  {
    ask = [],
    upgrades = [],
  }: { readonly ask?: readonly ModulePackage[]; readonly upgrades?: readonly ModulePackage[] } = {},
) {
  const probed = ({ manifest, directory }: ModulePackage) => ({ id: manifest.id, directory })
  try {
    return await probe(config, packages.map(probed), {
      schema,
      ask: ask.map(({ manifest }) => manifest.id),
      upgrades: upgrades.map(probed),
    })
  } catch (error) {
    if (error instanceof ModuleError) return error
    throw error
  }
}

function formerFails(
  unfit: ModuleError,
  former: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
  own: ReadonlySet<string>,
): Failure {
  const { module, message } = unfit
  const versionIn = (packages: readonly ModulePackage[]) =>
    packages.find(({ manifest }) => manifest.id === module)?.version ?? 'unknown'
  const [old, next] = [versionIn(former), versionIn(fresh)]
  const values = { module, next, former: old, reason: message, cause: unfit }
  return own.has(module) ? breaksFormerOfYours(values) : breaksFormer(values)
}

function refused(message: string, cause: Error, own = false): Failure {
  return own ? probeOfYoursFailed({ problem: message, cause }) : probeFailed({ problem: message, cause })
}
