import { Failure } from '../failure.ts'
import { type Config, ModuleError, type ModulePackage, probe } from '../host.ts'

/**
 * Proves in a child process that the fresh modules load beside the installed ones. An installed module that
 * fails without them too does not stand in their way.
 * @throws {Failure} `probe-failed`
 */
export async function probeCandidates(
  config: Config,
  installed: readonly ModulePackage[],
  fresh: readonly ModulePackage[],
): Promise<void> {
  let others = installed
  for (;;) {
    const failed = await probeAll(config, [...others, ...fresh])
    if (failed === undefined) return
    const { module, message } = failed
    if (fresh.some(({ manifest }) => manifest.id === module))
      throw refused(`${module} is refused: ${message}.`, failed)
    const alone = await probeAll(config, others)
    if (alone?.module !== module) throw refused(`${module} would fail with this change: ${message}.`, failed)
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

function refused(message: string, cause: Error): Failure {
  return new Failure(
    'refused',
    'probe-failed',
    message.replace(/\.\.$/, '.'),
    'Nothing was changed. Tell the author of the module, or correct its settings in app.config.json.',
    { cause },
  )
}
