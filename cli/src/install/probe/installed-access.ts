import { ConfigError, ModuleError, probe, readConfig, readLockFile, storedModule } from '@mortise/host'

/**
 * Who may use which route of an installed module, found by loading what is installed in a child process.
 * @returns null where it cannot be loaded or is switched off, or the configuration is wrong
 */
export async function installedAccess(
  directory: string,
  id: string,
): Promise<Readonly<Record<string, string>> | null> {
  const { modules } = await readLockFile(directory)
  const enabled = Object.entries(modules).filter(([, locked]) => locked.enabled)
  if (!enabled.some(([one]) => one === id)) return null
  let probed = enabled.map(([one, locked]) => ({ id: one, directory: storedModule(directory, locked) }))
  try {
    const config = await readConfig(directory)
    for (;;) {
      try {
        return (await probe(config, probed)).access[id] ?? null
      } catch (error) {
        if (!(error instanceof ModuleError)) throw error
        // Another that fails does not stand in the way.
        const rest = probed.filter((one) => one.id !== error.module)
        if (error.module === id || rest.length === probed.length) return null
        probed = rest
      }
    }
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}
