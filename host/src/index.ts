export { type Config, readConfig, secretFile } from './config.ts'
export { configSchema } from './config-schema.ts'
export { hashTree } from './modules/hash-tree.ts'
export { lentPackages } from './modules/lend-peers.ts'
export {
  configFile,
  emptyLock,
  Lock,
  LockedModule,
  lockFile,
  readLock,
  storeDirectory,
  storedModule,
  writeLock,
} from './modules/lock.ts'
export { ManifestError, type ModulePackage, readPackage } from './modules/read-package.ts'
export { ConfigError } from './settings.ts'
export { hostVersion } from './version.ts'
