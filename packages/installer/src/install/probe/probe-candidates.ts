import { join, sep } from 'node:path'
import type { Config, ModulePackage } from '@mortise/application'
import { callApplication, ModuleError, type ProbeReport, probe } from '@mortise/host'
import type { DatabaseSchema } from '@mortise/storage'
import { breaksPrevious, probeFailed } from '../../failures/index.ts'
import { foreignText } from '../../reporting/foreign-text.ts'

export interface ProbedChange {
  /** The modules that serve after the change. */
  readonly next: ProbeReport
  /** The modules that serve now; undefined if nothing is replaced, or they cannot be loaded. */
  readonly previous: ProbeReport | undefined
}

interface Tried {
  readonly config: Config
  readonly schema: DatabaseSchema
}

/**
 * Loads the fresh modules beside the installed ones, in child processes with databases of the
 * application's schema, and checks that they respond. It also checks that the replaced versions
 * still respond after the new migrations, because they serve until the switch, and again after a
 * rollback. An installed module that also fails without the change does not block it.
 * @param replaced the active versions that the fresh modules replace
 * @param own the ids of fresh modules in a folder of the operator
 * @throws {Failure} `probe-failed`, `breaks-previous`
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
    const found = await probeAll(tried, [...others, ...fresh], fresh)
    if (!(found instanceof ModuleError)) {
      return { next: found, previous: await probePrevious(tried, others, replaced, fresh, own) }
    }
    const { module } = found
    const message = reasonOf(found)
    const culprit = fresh.find(({ manifest }) => manifest.id === module)
    if (culprit) {
      // The staging path is gone when the operator reads the message.
      const reason = message.replaceAll(join(culprit.directory, sep), '')
      const problem = `The module ${module} is refused: ${reason}.`
      throw probeFailed({ problem, hint: own.has(module) ? 'own' : 'others', cause: found })
    }
    const alone = await probeAll(tried, others)
    const rest = without(others, module)
    if (!(alone instanceof ModuleError) || alone.module !== module || rest.length === others.length) {
      const problem = `The module ${module} would fail with this change: ${message}.`
      throw probeFailed({ problem, hint: 'others', cause: found })
    }
    others = rest
  }
}

/** Leaves out modules that cannot be loaded, until the rest can. */
async function probePrevious(
  tried: Tried,
  installed: readonly ModulePackage[],
  replaced: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
  own: ReadonlySet<string>,
): Promise<ProbeReport | undefined> {
  let [others, previous] = [installed, replaced]
  while (previous.length > 0) {
    const found = await probeAll(tried, [...others, ...previous], previous, fresh)
    if (!(found instanceof ModuleError)) {
      if (found.unfit === undefined) return found
      const { module } = found.unfit
      const reason = reasonOf(found.unfit)
      const versionIn = (packages: readonly ModulePackage[]) =>
        packages.find(({ manifest }) => manifest.id === module)?.version ?? 'unknown'
      const versions = { next: versionIn(fresh), previous: versionIn(previous) }
      const hint = own.has(module) ? 'own' : 'others'
      throw breaksPrevious({ module, ...versions, reason, hint, cause: found.unfit })
    }
    const [length, { module }] = [others.length + previous.length, found]
    others = without(others, module)
    previous = without(previous, module)
    if (others.length + previous.length === length) throw found
  }
  return undefined
}

/** The module writes much of it: the message of its error. */
const reasonOf = ({ message }: ModuleError) => foreignText(message, 1000)

const without = (packages: readonly ModulePackage[], id: string) =>
  packages.filter(({ manifest }) => manifest.id !== id)

async function probeAll(
  { config, schema }: Tried,
  packages: readonly ModulePackage[],
  asked: readonly ModulePackage[] = [],
  upgraded: readonly ModulePackage[] = [],
) {
  const probed = ({ manifest, directory }: ModulePackage) => ({ id: manifest.id, directory })
  const [ask, upgrades] = [asked.map(({ manifest }) => manifest.id), upgraded.map(probed)]
  try {
    return await probe(config, packages.map(probed), { schema, ask, upgrades })
  } catch (error) {
    if (error instanceof ModuleError) return error
    throw error
  }
}
