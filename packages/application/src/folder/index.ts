export { type ConfigText, parseConfig, readConfigText, valueAt } from './config-text.ts'
export { makeReserve, withDiskReserve } from './disk-reserve.ts'
export { namingFullFolder } from './naming-full-folder.ts'
export {
  isSnapshot,
  readSnapshots,
  removeSnapshot,
  type Snapshot,
  snapshotFile,
  snapshotsFolder,
} from './snapshots.ts'
export { unusedPath } from './unused-path.ts'
export { assertUsable, systemError, writtenFolders } from './writable-folders.ts'
