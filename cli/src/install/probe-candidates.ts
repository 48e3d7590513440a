import { join, sep } from 'node:path'
import { Failure } from '../failure.ts'
import { type Config, ModuleError, type ModulePackage, probe } from '../host.ts'

/**
 * Proves in a child process that the fresh modules load beside the installed ones. An installed module that
 * fails without them too does not stand in their way.
 * @param own the ids of those that lie in a folder of who runs the command
 * @throws {Failure} `probe-failed`
 */
export async function probeCandidates(
  config: Config,
  installed: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
  own: ReadonlySet<string> = new Set(),
): Promise<void> {
  let others = installed
  for (;;) {
    const failed = await probeAll(config, [...others, ...fresh])
    if (failed === undefined) return
    const { module, message } = failed
    const culprit = fresh.find(({ manifest }) => manifest.id === module)
    if (culprit) {
      // It lies in staging, and will not any more when somebody looks.
      const reason = message.replaceAll(join(culprit.directory, sep), '')
      throw refused(`The module ${module} is refused: ${reason}.`, failed, own.has(module))
    }
    const alone = await probeAll(config, others)
    if (alone?.module !== module)
      throw refused(`The module ${module} would fail with this change: ${message}.`, failed)
    others = others.filter(({ manifest }) => manifest.id !== module)
  }
}

async function probeAll(
  config: Config,
  packages: readonly ModulePackage[],
): Promise<ModuleError | undefined> {
  try {
    await probe(
      config,
      packages.map(({ manifest, directory }) => ({ id: manifest.id, directory })),
    )
    return undefined
  } catch (error) {
    if (error instanceof ModuleError) return error
    throw error
  }
}

function refused(message: string, cause: Error, own = false): Failure {
  return new Failure(
    'refused',
    'probe-failed',
    message,
    own
      ? 'Nothing was changed. Correct it in its folder, then install it again; --verbose shows where it comes from.'
      : 'Nothing was changed. Tell the author of the module, or correct its settings in app.config.json.',
    { cause },
  )
}
