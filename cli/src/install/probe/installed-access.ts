import { ConfigError, enabledModules, ModuleError, probe, readConfig, readLockFile } from '@mortise/host'

/** @returns null if the module is disabled or cannot be loaded, or the configuration is wrong */
export async function installedAccess(
  directory: string,
  id: string,
): Promise<Readonly<Record<string, string>> | null> {
  let probed = enabledModules(directory, await readLockFile(directory))
  while (probed.some((one) => one.id === id)) {
    try {
      return (await probe(await readConfig(directory), probed)).access[id] ?? null
    } catch (error) {
      if (error instanceof ConfigError) return null
      if (!(error instanceof ModuleError)) throw error
      // A failure of another module does not matter.
      const rest = probed.filter((one) => one.id !== error.module)
      if (rest.length === probed.length) return null
      probed = rest
    }
  }
  return null
}
