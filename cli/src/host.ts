// All that the command takes from the host, in one place.
import { openStorage, StorageBusyError } from '@mortise/host'

export {
  Application,
  type ApplicationState,
  type Config,
  ConfigError,
  callRunningHost,
  configFile,
  configSchema,
  describeApplication,
  hashTree,
  hostVersion,
  inContractOrder,
  type Lock,
  type LockedModule,
  lentPackages,
  lockFile,
  ManifestError,
  MigrationError,
  ModuleError,
  type ModulePackage,
  migrateApplication,
  mintApplicationToken,
  moduleSettings,
  probe,
  readConfig,
  readLock,
  readPackage,
  StorageBusyError,
  secretFile,
  storeDirectory,
  storedModule,
  writeLock,
} from '@mortise/host'

/**
 * Takes the lock on `file` that dies with its owner; undefined where somebody holds it. A database is the one
 * thing of the host's that holds such a lock.
 */
export async function acquireFileLock(file: string): Promise<{ release(): Promise<void> } | undefined> {
  try {
    const storage = await openStorage({
      file,
      onFatal: (error) => {
        throw error
      },
    })
    return { release: () => storage.close() }
  } catch (error) {
    if (error instanceof StorageBusyError) return undefined
    throw error
  }
}
